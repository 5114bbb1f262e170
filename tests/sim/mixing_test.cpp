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
