// Every pair of mixings of Factored Gossip DiLoCo, as settings of the manifest, on whole nodes in
// the simulated world.
#include "grapevine/base/log.hpp"
#include "grapevine/world/swarm.hpp"

#include "run_to_the_end.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <set>

using namespace grapevine;
using grapevine::test::run_to_the_end;
using grapevine::world::Swarm;
using grapevine::world::SwarmOptions;

namespace {

constexpr auto none = MixPattern::none, pair = MixPattern::pair, global = MixPattern::global;

struct Variant {
  char const* name;
  MixPattern mix1;
  MixPattern mix2;
  bool momentum = false;
};
constexpr Variant variants[] = {
    {"LocalM1", pair, none},
    {"GlobalM1", global, none},
    {"LocalM1M2", pair, pair},
    {"GlobalM1LocalM2", global, pair},
    {"LocalM1GlobalM2", pair, global},
    {"GlobalM1M2", global, global},
    {"LocalM2", none, pair},
    {"GlobalM1LocalM2, v mixed", global, pair, true},
    {"LocalM1M2, v mixed", pair, pair, true},
};

SwarmOptions options_for(Variant const& variant) {
  set_log_level(LogLevel::off);
  SwarmOptions options;
  options.seed = 3;
  options.peers = 4;
  options.rounds = 6;
  options.mixing = {variant.mix1, variant.mix2, false, variant.momentum};
  return options;
}

// Mean squared distance between the parameters of two peers at the end.
double distance(Swarm& swarm, SwarmOptions const& options) {
  std::vector<std::vector<float>> all;
  for (std::size_t i = 0; i < options.peers; ++i)
    all.push_back(swarm.checkpoint(i, options.rounds).value().parameters);
  double sum = 0;
  for (auto const& a : all)
    for (auto const& b : all)
      for (std::size_t i = 0; i < a.size(); ++i) {
        double const apart = static_cast<double>(a[i]) - static_cast<double>(b[i]);
        sum += apart * apart;
      }
  return sum / static_cast<double>(options.peers * (options.peers - 1));
}

struct Merged {
  std::size_t rounds = 0;  // in which this lane was merged with anybody
  std::size_t peers = 0;   // summed over them
};

// Checks each line of every ledger, and counts what was merged by lane.
std::map<MixLane, Merged> check_ledgers(Swarm& swarm, Variant const& variant) {
  std::map<MixLane, Merged> merged;
  for (auto const& [machine, ending] : swarm.endings) {
    CAPTURE(machine);
    std::set<std::pair<std::uint64_t, MixLane>> seen;
    auto const ledger = swarm.ledger(machine).value();
    for (auto const& entry : ledger) {
      CHECK(seen.emplace(entry->round, entry->lane).second);
      bool const first = entry->lane == MixLane::parameters;
      CHECK(entry->mix == (first ? variant.mix1 : variant.mix2));
      double weights = 0;
      for (auto const& input : entry->inputs) {
        weights += input.weight;
        if (first) CHECK(input.weight == 1.0 / static_cast<double>(entry->inputs.size()));
      }
      if (!entry->inputs.empty()) CHECK(weights == doctest::Approx(1));
      if (entry->inputs.size() < 2) continue;
      ++merged[entry->lane].rounds;
      merged[entry->lane].peers += entry->inputs.size();
    }
    bool const both = variant.mix1 != none;
    CHECK(seen.size() == (both ? 12 : 6));
  }
  return merged;
}

}  // namespace

TEST_CASE("every pair of mixings is a setting") {
  double apart = 0;
  {
    auto const options = options_for({"none", none, none});
    Swarm swarm(options);
    run_to_the_end(swarm, options.rounds);
    apart = distance(swarm, options);
  }
  std::map<std::string, double> distances;  // as shares of that of peers that mix nothing
  for (auto const& variant : variants) {
    CAPTURE(std::string(variant.name));
    auto const options = options_for(variant);
    Swarm swarm(options);
    run_to_the_end(swarm, options.rounds);
    auto merged = check_ledgers(swarm, variant);
    // In the first round nobody may have heard of anybody when Mix1 begins.
    if (variant.mix1 != none) CHECK(merged[MixLane::parameters].rounds >= 4 * 5 - 2);
    if (variant.mix2 != none) CHECK(merged[MixLane::gradients].rounds >= 4 * 6 - 2);
    if (variant.mix2 == global)
      CHECK(merged[MixLane::gradients].peers >= 4 * merged[MixLane::gradients].rounds - 4);
    distances[variant.name] = distance(swarm, options) / apart;
  }
  for (auto const& [name, share] : distances) MESSAGE(name << ": " << share);
  // As the consensus bound orders them; without Mix1 there is none.
  CHECK(distances["GlobalM1LocalM2"] < distances["GlobalM1"]);
  CHECK(distances["GlobalM1LocalM2"] < distances["LocalM1M2"]);
  CHECK(distances["LocalM1M2"] < distances["LocalM1"]);
  CHECK(distances["LocalM1"] < 0.8);
  CHECK(distances["GlobalM1LocalM2, v mixed"] < distances["GlobalM1LocalM2"]);
  CHECK(distances["LocalM1M2, v mixed"] < distances["LocalM1M2"]);
}

TEST_CASE("a peer that crashes is back, and nobody waits for it for ever, whatever is mixed") {
  for (auto const& variant : variants) {
    CAPTURE(std::string(variant.name));
    auto const options = options_for(variant);
    Swarm swarm(options);
    SeededRandom random(11);
    for (std::size_t victim = 1; victim < 3; ++victim) {
      auto const when = swarm.world.now() + from_seconds(5 + 40 * random.unit());
      swarm.world.at(when, [&swarm, victim] { swarm.world.crash(victim); });
      swarm.world.at(when + 4s, [&swarm, victim] { swarm.world.restart(victim); });
    }
    run_to_the_end(swarm, options.rounds);
    for (auto const& [machine, ending] : swarm.endings) CHECK(swarm.ledger(machine).has_value());
  }
}

namespace {

double squared_distance(std::vector<float> const& a, std::vector<float> const& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    sum += (double{a[i]} - double{b[i]}) * (double{a[i]} - double{b[i]});
  return sum;
}

struct CodecRun {
  std::vector<float> last;  // parameters
  std::uint64_t bytes = 0;  // of blobs that it pulled
};

CodecRun run_with(Codec codec, float error_decay) {
  auto options = options_for({"DiLoCo", none, global});
  options.hidden = 256;
  options.mixing.mix2_codec = codec;
  options.mixing.error_decay = error_decay;
  Swarm swarm(options);
  CodecRun result;
  auto const look = [&] {
    result.bytes = std::max(result.bytes, swarm.node(0).snapshot().network.blob_bytes_fetched);
    return swarm.all_ended();
  };
  CHECK(swarm.world.run_for(30min, look));
  for (auto const& [machine, ending] : swarm.endings) {
    CAPTURE(machine);
    CHECK(ending.error.empty());
    CHECK(ending.round == options.rounds);
    CHECK(ending.state == swarm.endings.at(0).state);
  }
  result.last = swarm.checkpoint(0, options.rounds).value().parameters;
  return result;
}

}  // namespace

TEST_CASE("whatever the codec, all come to one state; the finer it is the nearer to that of fp32") {
  auto const plain = run_with(Codec::fp32, 1);
  std::map<Codec, double> apart;
  std::map<Codec, double> bytes;
  for (auto const codec : {Codec::bf16, Codec::int8, Codec::int4, Codec::topk}) {
    CAPTURE(std::string(codec_name(codec)));
    auto const run = run_with(codec, 1);
    apart[codec] = squared_distance(run.last, plain.last);
    bytes[codec] = static_cast<double>(run.bytes) / static_cast<double>(plain.bytes);
    MESSAGE(codec_name(codec) << ": " << apart[codec] << " apart, bytes " << bytes[codec]);
  }
  // What is left out and sent later is worth it.
  CHECK(apart[Codec::int4] < squared_distance(run_with(Codec::int4, 0).last, plain.last));
  CHECK(apart[Codec::bf16] < apart[Codec::int4]);
  CHECK(apart[Codec::int8] < apart[Codec::int4]);
  CHECK(apart[Codec::int4] < apart[Codec::topk]);
  CHECK(bytes[Codec::bf16] == doctest::Approx(1.0 / 2).epsilon(0.1));
  CHECK(bytes[Codec::int8] == doctest::Approx(1.0 / 4).epsilon(0.1));
  CHECK(bytes[Codec::int4] == doctest::Approx(1.0 / 8).epsilon(0.15));
}
