// Pair exchanges between whole nodes in the simulated world.
#include "grapevine/base/log.hpp"
#include "sim/swarm.hpp"

#include <doctest/doctest.h>

#include <set>

using namespace grapevine;
using grapevine::test::Swarm;
using grapevine::test::SwarmOptions;

namespace {

using Ledgers = std::map<PeerId, std::map<std::uint64_t, LedgerEntry>>;

Ledgers ledgers_of(Swarm& swarm) {
  Ledgers ledgers;
  for (auto const& [machine, ending] : swarm.endings)
    for (auto const& entry : swarm.ledger(machine)) ledgers[entry.signer()][entry->round] = *entry;
  return ledgers;
}

bool in_doubt(LedgerEntry const& entry, PeerId const& about) {
  for (auto const& missing : entry.missing)
    if (missing.peer == about && missing.reason == "did not say whether it committed") return true;
  return false;
}

// How many entries are exchanges; each must be in both ledgers, unless the other side was left in
// doubt (it is then made good later).
std::size_t check_pairs(Ledgers const& ledgers) {
  std::size_t exchanges = 0;
  for (auto const& [peer, entries] : ledgers) {
    for (auto const& [round, entry] : entries) {
      CAPTURE(round);
      if (entry.inputs.size() < 2) continue;
      ++exchanges;
      REQUIRE(entry.inputs.size() == 2);
      for (auto const& input : entry.inputs) {
        CHECK(input.weight == 0.5);
        CHECK_FALSE(input.contribution.is_zero());
        auto const& theirs = ledgers.at(input.peer).at(round);
        if (theirs.inputs.size() != 2) {
          CHECK(in_doubt(theirs, peer));
          continue;
        }
        CHECK(theirs.inputs[0].peer == entry.inputs[0].peer);
        CHECK(theirs.inputs[1].peer == entry.inputs[1].peer);
      }
    }
  }
  return exchanges;
}

SwarmOptions options_for(std::uint64_t seed, MixPattern mix, std::size_t peers) {
  set_log_level(LogLevel::off);
  SwarmOptions options;
  options.seed = seed;
  options.mix = mix;
  options.peers = peers;
  options.rounds = 8;
  return options;
}

void run_to_the_end(Swarm& swarm, std::uint64_t rounds) {
  Instant const begin = swarm.world.now();
  REQUIRE(swarm.world.run_until(begin + 30min, [&] { return swarm.all_ended(); }));
  for (auto const& [machine, ending] : swarm.endings) {
    CAPTURE(machine);
    CHECK(ending.error.empty());
    CHECK(ending.round == rounds);
  }
}

}  // namespace

TEST_CASE("nodes exchange in pairs, both or neither") {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    CAPTURE(seed);
    auto const options = options_for(seed, MixPattern::pair, 4);
    Swarm swarm(options);
    run_to_the_end(swarm, options.rounds);
    CHECK(check_pairs(ledgers_of(swarm)) >= options.peers * options.rounds / 2);
  }
}

TEST_CASE("connections that break leave no exchange one-sided") {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    CAPTURE(seed);
    auto const options = options_for(seed, MixPattern::pair, 4);
    Swarm swarm(options);
    SeededRandom random(seed);
    for (int cut = 0; cut < 12; ++cut) {
      auto const a = random.below(options.peers);
      auto const b = (a + 1 + random.below(options.peers - 1)) % options.peers;
      auto const when = swarm.world.now() + from_seconds(5 + 90 * random.unit());
      swarm.world.at(when, [&swarm, a, b] { swarm.world.cut_connections(a, b); });
    }
    run_to_the_end(swarm, options.rounds);
    CHECK(check_pairs(ledgers_of(swarm)) > 0);
  }
}

TEST_CASE("without mixing every node goes its own way") {
  auto const options = options_for(1, MixPattern::none, 3);
  Swarm swarm(options);
  run_to_the_end(swarm, options.rounds);
  std::set<Hash> states;
  for (auto const& [machine, ending] : swarm.endings) states.insert(ending.state);
  CHECK(states.size() == options.peers);
  for (auto const& [peer, entries] : ledgers_of(swarm))
    for (auto const& [round, entry] : entries) CHECK(entry.inputs.size() == 1);
}
