// Every pair of mixings of Factored Gossip DiLoCo, as settings of the manifest, on whole nodes in
// the simulated world.
#include "grapevine/base/log.hpp"
#include "grapevine/world/swarm.hpp"

#include "run_to_the_end.hpp"

#include <doctest/doctest.h>

#include <algorithm>
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

SwarmOptions options_for(Variant const& variant, std::uint64_t seed = 3) {
  set_log_level(LogLevel::off);
  SwarmOptions options;
  options.seed = seed;
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

// The mean over all peers and the rounds that were measured, but for the first two: where there is
// no Mix1 before the first outer step all began alike.
struct Disagreement {
  double js = 0;
  std::size_t measured = 0;
};
Disagreement disagreement(Swarm& swarm) {
  Disagreement found;
  for (auto const& [machine, ending] : swarm.endings) {
    auto const ledger = swarm.ledger(machine).value();
    for (auto const& entry : ledger) {
      if (!entry->js || entry->round < 2) continue;
      found.js += double{*entry->js};
      ++found.measured;
    }
  }
  found.js /= static_cast<double>(std::max<std::size_t>(1, found.measured));
  return found;
}

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

// Who meets whom in the last rounds decides how far apart the peers of one swarm end: the means
// over a few say more.
TEST_CASE("every pair of mixings is a setting, and models that are mixed better are closer") {
  constexpr std::uint64_t seeds = 3;
  std::map<std::string, double> distances;  // as shares of that of peers that mix nothing
  std::map<std::string, double> js;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    CAPTURE(seed);
    double apart = 0;
    {
      auto const options = options_for({"none", none, none}, seed);
      Swarm swarm(options);
      run_to_the_end(swarm, options.rounds);
      apart = distance(swarm, options);
      CHECK(disagreement(swarm).measured == 0);
    }
    for (auto const& variant : variants) {
      CAPTURE(std::string(variant.name));
      auto const options = options_for(variant, seed);
      Swarm swarm(options);
      run_to_the_end(swarm, options.rounds);
      auto merged = check_ledgers(swarm, variant);
      // In the first round nobody may have heard of anybody when Mix1 begins.
      if (variant.mix1 != none) CHECK(merged[MixLane::parameters].rounds >= 4 * 5 - 2);
      if (variant.mix2 != none) CHECK(merged[MixLane::gradients].rounds >= 4 * 6 - 2);
      if (variant.mix2 == global)
        CHECK(merged[MixLane::gradients].peers >= 4 * merged[MixLane::gradients].rounds - 4);
      distances[variant.name] += distance(swarm, options) / apart / seeds;
      auto const found = disagreement(swarm);
      CHECK(found.measured >= 4 * 4 - 2);
      CHECK(found.js > 0);
      js[variant.name] += found.js / seeds;
    }
  }
  for (auto const& [name, share] : distances)
    MESSAGE(name << ": squared distance " << share << ", js " << js[name]);
  // As the consensus bound orders them; without Mix1 there is none.
  constexpr std::pair<char const*, char const*> order[] = {
      {"GlobalM1LocalM2", "GlobalM1"}, {"GlobalM1LocalM2", "LocalM1M2"}, {"LocalM1M2", "LocalM1"}};
  for (auto const& [better, worse] : order) {
    CAPTURE(std::string(better));
    CAPTURE(std::string(worse));
    CHECK(distances[better] < distances[worse]);
    CHECK(js[better] < js[worse]);
  }
  CHECK(distances["LocalM1"] < 0.8);
  CHECK(distances["GlobalM1LocalM2, v mixed"] < distances["GlobalM1LocalM2"]);
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

TEST_CASE("both sides of an exchange know one distance, and the next run knows it again") {
  auto const run = [] {
    auto options = options_for({"LocalM1M2", pair, pair});
    options.mixing.joint = true;
    Swarm swarm(options);
    run_to_the_end(swarm, options.rounds);
    std::map<std::pair<std::uint64_t, std::set<PeerId>>, std::vector<float>> of_pairs;
    std::size_t apart = 0;
    for (auto const& [machine, ending] : swarm.endings) {
      auto const ledger = swarm.ledger(machine).value();
      for (auto const& entry : ledger) {
        if (!entry->js || entry->inputs.size() < 2) continue;
        std::set<PeerId> peers;
        for (auto const& input : entry->inputs) peers.insert(input.peer);
        of_pairs[{entry->round, peers}].push_back(*entry->js);
      }
      apart += swarm.node(machine).snapshot().consensus.l2.value_or(0) > 0 ? 1 : 0;
    }
    CHECK(apart >= 2);
    return std::pair{of_pairs, swarm.world.trace().hash()};
  };
  auto const first = run();
  std::size_t both = 0;
  for (auto const& [exchange, told] : first.first) {
    if (told.size() < 2) continue;
    CHECK(told[0] == told[1]);
    ++both;
  }
  CHECK(both >= 8);
  CHECK(run() == first);
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
  // Beside the gradients there are answers to the probe batch, the same whatever the codec.
  double const others = 2 * bytes[Codec::bf16] - 1;
  CHECK(others > 0);
  CHECK(others < 0.8);
  auto const of_gradients = [&](Codec codec) { return (bytes[codec] - others) / (1 - others); };
  CHECK(of_gradients(Codec::int8) == doctest::Approx(8.125 / 32).epsilon(0.02));
  CHECK(of_gradients(Codec::int4) == doctest::Approx(4.125 / 32).epsilon(0.02));
}
