// Planned absences, with whole nodes in the simulated world: one of four peers pauses in the middle
// of a round and comes back; the others never take that for a failure.
#include "grapevine/base/log.hpp"
#include "grapevine/world/swarm.hpp"

#include "run_to_the_end.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

using namespace grapevine;
using grapevine::test::run_to_the_end;
using grapevine::world::Swarm;
using grapevine::world::SwarmOptions;

namespace {

constexpr std::size_t sleeper = 2;

SwarmOptions options_of(std::uint64_t seed, std::uint64_t rounds) {
  set_log_level(LogLevel::off);
  SwarmOptions options;
  options.seed = seed;
  options.peers = 4;
  options.rounds = rounds;
  options.inner_steps = 10;
  options.shards = 4;
  return options;
}

Awaitable<> wait_for(Awaitable<Result<>> asked, bool& done) {
  auto const result = co_await std::move(asked);
  done = result.has_value();
}

void pause(Swarm& swarm, std::size_t machine) {
  bool done = false;
  swarm.world.spawn(machine, wait_for(swarm.node(machine).pause(), done));
  REQUIRE(swarm.world.run_for(10s, [&] { return done; }));
}

void resume(Swarm& swarm, std::size_t machine) {
  bool done = false;
  swarm.world.spawn(machine, wait_for(swarm.node(machine).resume(), done));
  REQUIRE(swarm.world.run_for(10s, [&] { return done; }));
}

std::uint64_t round_of(Swarm& swarm, std::size_t machine) {
  return swarm.node(machine).snapshot().round.current;
}

// All four have mixed, and the sleeper is so far into a round.
void run_until_step(Swarm& swarm, std::uint32_t step) {
  REQUIRE(swarm.world.run_for(10min, [&] {
    auto const shown = swarm.node(sleeper).snapshot();
    return shown.round.current >= 2 && shown.round.mix2.participants.size() == 4 &&
           shown.state == PeerState::training && shown.round.inner_step >= step;
  }));
}

bool sees_paused(Swarm& swarm, std::size_t machine, PeerId const& who) {
  auto const shown = swarm.node(machine).snapshot();
  return std::ranges::any_of(shown.peers, [&](auto const& peer) {
    return peer.id == who && peer.state == PeerState::paused;
  });
}

// From `round` on: how many entries of the others' ledgers name that peer as missing, and how many
// as an input.
struct Mentions {
  std::size_t missing = 0;
  std::size_t inputs = 0;
};
Mentions mentions_of(Swarm& swarm, PeerId const& who, std::uint64_t from) {
  Mentions found;
  auto const is_it = [&](auto const& one) { return one.peer == who; };
  for (std::size_t machine = 0; machine < 4; ++machine) {
    if (machine == sleeper) continue;
    auto const ledger = swarm.ledger(machine);
    REQUIRE(ledger.has_value());
    for (auto const& entry : *ledger) {
      if (entry->round < from) continue;
      found.missing += static_cast<std::size_t>(std::ranges::count_if(entry->missing, is_it));
      found.inputs += static_cast<std::size_t>(std::ranges::count_if(entry->inputs, is_it));
    }
  }
  return found;
}

std::size_t states(Swarm const& swarm) {
  std::set<Hash> all;
  for (auto const& [machine, ending] : swarm.endings) all.insert(ending.state);
  return all.size();
}

}  // namespace

TEST_CASE("one of four pauses in a round and comes back: nobody misses it, all end in one state") {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    CAPTURE(seed);
    constexpr std::uint64_t rounds = 14;
    Swarm swarm(options_of(seed, rounds));
    run_until_step(swarm, 5);
    auto const who = swarm.node(sleeper).snapshot().id;
    auto const paused_in = round_of(swarm, sleeper);
    pause(swarm, sleeper);
    REQUIRE(swarm.node(sleeper).snapshot().pause.has_value());
    REQUIRE(swarm.world.run_for(2min, [&] { return round_of(swarm, 0) >= paused_in + 4; }));
    auto const shown = swarm.node(sleeper).snapshot();
    CHECK(shown.state == PeerState::paused);
    CHECK(shown.round.current == paused_in);
    CHECK(shown.round.behind >= 4);
    CHECK_FALSE(swarm.node(sleeper).ready());
    for (std::size_t const other : {0, 1, 3}) {
      CHECK(sees_paused(swarm, other, who));
      CHECK(swarm.node(other).snapshot().round.mix2.missing.empty());
    }
    auto const tokens = shown.training.tokens_total;
    swarm.world.run_for(30s);
    CHECK(swarm.node(sleeper).snapshot().training.tokens_total == tokens);

    resume(swarm, sleeper);
    auto const resumed_in = round_of(swarm, 0);
    CHECK_FALSE(swarm.node(sleeper).snapshot().pause.has_value());
    run_to_the_end(swarm, rounds);
    CHECK(states(swarm) == 1);
    CHECK(mentions_of(swarm, who, paused_in).missing == 0);
    CHECK(mentions_of(swarm, who, resumed_in).inputs > 0);
    CHECK(swarm.trained.at(sleeper).fault.empty());  // it never lost its place in the data
  }
}

TEST_CASE("a pair that pauses is no failure either") {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    CAPTURE(seed);
    constexpr std::uint64_t rounds = 14;
    auto options = options_of(seed, rounds);
    options.mixing.mix1 = MixPattern::pair;
    options.mixing.mix2 = MixPattern::pair;
    Swarm swarm(options);
    REQUIRE(swarm.world.run_for(10min, [&] {
      auto const shown = swarm.node(sleeper).snapshot();
      return shown.round.current >= 2 && shown.round.inner_step >= 5;
    }));
    auto const who = swarm.node(sleeper).snapshot().id;
    pause(swarm, sleeper);
    REQUIRE(swarm.world.run_for(
        2min, [&] { return swarm.node(sleeper).snapshot().state == PeerState::paused; }));
    auto const paused_in = round_of(swarm, sleeper);
    REQUIRE(swarm.world.run_for(2min, [&] { return round_of(swarm, 0) >= paused_in + 4; }));
    CHECK(round_of(swarm, sleeper) == paused_in);
    resume(swarm, sleeper);
    auto const resumed_in = round_of(swarm, 0);
    run_to_the_end(swarm, rounds);
    CHECK(mentions_of(swarm, who, paused_in).missing == 0);
    CHECK(mentions_of(swarm, who, resumed_in).inputs > 0);
  }
}

TEST_CASE("a restart does not end a pause, resuming does") {
  constexpr std::uint64_t rounds = 12;
  Swarm swarm(options_of(7, rounds));
  run_until_step(swarm, 5);
  pause(swarm, sleeper);
  swarm.world.crash(sleeper);
  swarm.world.restart(sleeper);
  REQUIRE(swarm.world.run_for(1min, [&] {
    return swarm.world.running(sleeper) &&
           swarm.node(sleeper).snapshot().state == PeerState::paused;
  }));
  auto const paused_in = round_of(swarm, sleeper);
  swarm.world.run_for(20s);
  CHECK(round_of(swarm, sleeper) == paused_in);
  resume(swarm, sleeper);
  run_to_the_end(swarm, rounds);
  CHECK(states(swarm) == 1);
}
