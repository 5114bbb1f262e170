// Pair exchanges between whole nodes in the simulated world.
#include "grapevine/base/log.hpp"
#include "grapevine/world/swarm.hpp"
#include "node/pair_store_detail.hpp"

#include "run_to_the_end.hpp"

#include <doctest/doctest.h>

#include <set>

using namespace grapevine;
using grapevine::test::run_to_the_end;
using grapevine::world::Swarm;
using grapevine::world::SwarmOptions;

namespace {

using Ledgers = std::map<PeerId, std::map<std::uint64_t, LedgerEntry>>;

Ledgers ledgers_of(Swarm& swarm) {
  Ledgers ledgers;
  for (auto const& [machine, ending] : swarm.endings) {
    auto const ledger = swarm.ledger(machine);
    REQUIRE(ledger.has_value());
    for (auto const& entry : *ledger) ledgers[entry.signer()][entry->round] = *entry;
  }
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
  options.mixing = {mix, mix, mix == MixPattern::pair, false};
  options.peers = peers;
  options.rounds = 8;
  return options;
}

// Two peers, and when they exchanged for the last time if nothing came between.
struct LastExchange {
  SwarmOptions options;
  std::size_t coordinator = 0;
  std::size_t partner = 1;
  Instant from{};
  Instant to{};
  std::map<std::size_t, std::vector<float>> parameters;  // at the end, by machine
  std::uint64_t steps_from = 0;                          // of the coordinator's disk
  std::uint64_t steps_to = 0;
};

LastExchange undisturbed() {
  LastExchange last;
  last.options = options_for(1, MixPattern::pair, 2);
  last.options.rounds = 3;
  Swarm swarm(last.options);
  auto const limit = swarm.world.now() + 30min;
  auto const collecting = [&] {
    auto const shown = swarm.node(0).snapshot().round;
    return shown.current + 1 == last.options.rounds && shown.phase == "collecting";
  };
  auto const all_done = [&] {
    for (std::size_t i = 0; i < 2; ++i)
      if (swarm.node(i).snapshot().round.current < last.options.rounds) return false;
    return true;
  };
  REQUIRE(swarm.world.run_until(limit, collecting));
  last.from = swarm.world.now();
  std::array<std::uint64_t, 2> const steps{swarm.world.disk_steps(0), swarm.world.disk_steps(1)};
  REQUIRE(swarm.world.run_until(limit, all_done));
  last.to = swarm.world.now();
  auto const lower = swarm.node(0).snapshot().id < swarm.node(1).snapshot().id;
  last.coordinator = lower ? 0 : 1;
  last.partner = 1 - last.coordinator;
  last.steps_from = steps.at(last.coordinator);
  run_to_the_end(swarm, last.options.rounds);
  last.steps_to = swarm.world.disk_steps(last.coordinator);
  auto const entries = ledgers_of(swarm);
  for (auto const& [peer, rounds] : entries)
    REQUIRE(rounds.at(last.options.rounds - 1).inputs.size() == 2);
  for (std::size_t i = 0; i < 2; ++i)
    last.parameters[i] = swarm.checkpoint(i, last.options.rounds).value().parameters;
  return last;
}

// What is still open in a machine's store.
std::size_t open_doubts(Swarm& swarm, std::size_t machine) {
  auto store = PairStore::open(swarm.world.doors(machine).storage);
  REQUIRE(store.has_value());
  auto const doubts = (*store)->doubts();
  REQUIRE(doubts.has_value());
  std::size_t count = 0;
  for (auto const& [exchange, doubt] : *doubts) count += doubt.applied ? 0 : 1;
  return count;
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

// Whenever in the last exchange the link from the coordinator falls silent: where the coordinator
// has committed, the partner, which had closed the round in doubt, makes the exchange good before
// it ends, although no outer step is to come.
TEST_CASE("a commit that was lost in the last round is made good at the end") {
  auto const last = undisturbed();
  int in_doubt_and_committed = 0;
  for (auto at = last.from; at < last.to; at += 20ms) {
    CAPTURE(to_seconds(at - last.from));
    Swarm swarm(last.options);
    auto& world = swarm.world;
    world.at(at, [&] { world.set_link(last.coordinator, last.partner, {sim::rules::hold()}); });
    world.at(at + 12s, [&] { world.reset_link(last.coordinator, last.partner); });
    run_to_the_end(swarm, last.options.rounds);
    auto const ledgers = ledgers_of(swarm);
    check_pairs(ledgers);
    CHECK(open_doubts(swarm, last.coordinator) == 0);
    CHECK(open_doubts(swarm, last.partner) == 0);
    auto const entry_of = [&](std::size_t machine) { return swarm.ledger(machine)->back(); };
    auto const decided = entry_of(last.coordinator);
    auto const doubted = entry_of(last.partner);
    if (decided->inputs.size() != 2 || !in_doubt(*doubted, decided.signer())) continue;
    ++in_doubt_and_committed;
    // Each has what it would have had, and so has their sum.
    for (std::size_t machine = 0; machine < 2; ++machine) {
      auto const got = swarm.checkpoint(machine, last.options.rounds).value().parameters;
      auto const& wanted = last.parameters.at(machine);
      REQUIRE(got.size() == wanted.size());
      for (std::size_t i = 0; i < got.size(); ++i) CHECK(std::abs(got[i] - wanted[i]) < 1e-5F);
    }
  }
  CHECK(in_doubt_and_committed > 0);
}

// The power of the coordinator goes at every step its disk takes from the exchange to the end. What
// is kept then is the decision, not the exchange: see pair_store_detail.hpp.
TEST_CASE("what a coordinator has committed it can tell after a crash") {
  auto const last = undisturbed();
  std::size_t committed = 0;
  for (auto step = last.steps_from + 1; step <= last.steps_to; ++step) {
    CAPTURE(step - last.steps_from);
    Swarm swarm(last.options);
    auto& world = swarm.world;
    world.cut_power_at_disk_step(last.coordinator, step);
    bool restarting = false;
    auto const done = [&] {
      if (!world.running(last.coordinator) && !std::exchange(restarting, true))
        world.at(world.now() + 3s, [&] { world.restart(last.coordinator); });
      return swarm.all_ended() && world.running(last.coordinator);
    };
    REQUIRE(world.run_until(world.now() + 30min, done));
    CHECK(restarting);
    for (auto const& [machine, ending] : swarm.endings) {
      CHECK(ending.error.empty());
      CHECK(ending.round == last.options.rounds);
    }
    CHECK(open_doubts(swarm, last.partner) == 0);
    auto const applied = swarm.ledger(last.partner)->back();
    if (applied->round + 1 != last.options.rounds || applied->inputs.size() != 2) continue;
    ++committed;
    auto store = PairStore::open(world.doors(last.coordinator).storage);
    REQUIRE(store.has_value());
    CHECK((*store)->decisions()->contains({applied->round, MixLane::joint, applied.signer()}));
  }
  CHECK(committed > 0);
}
