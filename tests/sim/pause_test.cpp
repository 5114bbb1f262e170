// Planned absences, with whole nodes in the simulated world: one of four peers pauses in the middle
// of a round and comes back; the others never take that for a failure.
#include "grapevine/world/swarm.hpp"

#include "four_peers.hpp"
#include "run_to_the_end.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace grapevine;
using namespace grapevine::test;
using grapevine::world::Swarm;

namespace {

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

// All four have mixed, and the away is so far into a round.
void run_until_step(Swarm& swarm, std::uint32_t step) {
  REQUIRE(swarm.world.run_for(10min, [&] {
    auto const shown = swarm.node(away).snapshot();
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

}  // namespace

TEST_CASE("one of four pauses in a round and comes back: nobody misses it, all end in one state") {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    CAPTURE(seed);
    constexpr std::uint64_t rounds = 14;
    Swarm swarm(four_peers(seed, rounds));
    run_until_step(swarm, 5);
    auto const who = swarm.node(away).snapshot().id;
    auto const paused_in = round_of(swarm, away);
    pause(swarm, away);
    REQUIRE(swarm.node(away).snapshot().pause.has_value());
    REQUIRE(swarm.world.run_for(2min, [&] { return round_of(swarm, 0) >= paused_in + 4; }));
    auto const shown = swarm.node(away).snapshot();
    CHECK(shown.state == PeerState::paused);
    CHECK(shown.round.current == paused_in);
    CHECK(shown.round.behind >= 4);
    CHECK_FALSE(swarm.node(away).ready());
    for (std::size_t const other : {0, 1, 3}) {
      CHECK(sees_paused(swarm, other, who));
      CHECK(swarm.node(other).snapshot().round.mix2.missing.empty());
    }
    auto const tokens = shown.training.tokens_total;
    swarm.world.run_for(30s);
    CHECK(swarm.node(away).snapshot().training.tokens_total == tokens);

    resume(swarm, away);
    auto const resumed_in = round_of(swarm, 0);
    CHECK_FALSE(swarm.node(away).snapshot().pause.has_value());
    run_to_the_end(swarm, rounds);
    CHECK(states(swarm) == 1);
    CHECK(mentions_of(swarm, who, paused_in).missing == 0);
    CHECK(mentions_of(swarm, who, resumed_in).inputs > 0);
    CHECK(swarm.trained.at(away).fault.empty());  // it never lost its place in the data
  }
}

TEST_CASE("a pair that pauses is no failure either") {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    CAPTURE(seed);
    constexpr std::uint64_t rounds = 14;
    auto options = four_peers(seed, rounds);
    options.mixing.mix1 = MixPattern::pair;
    options.mixing.mix2 = MixPattern::pair;
    Swarm swarm(options);
    REQUIRE(swarm.world.run_for(10min, [&] {
      auto const shown = swarm.node(away).snapshot();
      return shown.round.current >= 2 && shown.round.inner_step >= 5;
    }));
    auto const who = swarm.node(away).snapshot().id;
    pause(swarm, away);
    REQUIRE(swarm.world.run_for(
        2min, [&] { return swarm.node(away).snapshot().state == PeerState::paused; }));
    auto const paused_in = round_of(swarm, away);
    REQUIRE(swarm.world.run_for(2min, [&] { return round_of(swarm, 0) >= paused_in + 4; }));
    CHECK(round_of(swarm, away) == paused_in);
    resume(swarm, away);
    auto const resumed_in = round_of(swarm, 0);
    run_to_the_end(swarm, rounds);
    CHECK(mentions_of(swarm, who, paused_in).missing == 0);
    CHECK(mentions_of(swarm, who, resumed_in).inputs > 0);
  }
}

TEST_CASE("a restart does not end a pause, resuming does") {
  constexpr std::uint64_t rounds = 12;
  Swarm swarm(four_peers(7, rounds));
  run_until_step(swarm, 5);
  pause(swarm, away);
  swarm.world.crash(away);
  swarm.world.restart(away);
  REQUIRE(swarm.world.run_for(1min, [&] {
    return swarm.world.running(away) && swarm.node(away).snapshot().state == PeerState::paused;
  }));
  auto const paused_in = round_of(swarm, away);
  swarm.world.run_for(20s);
  CHECK(round_of(swarm, away) == paused_in);
  resume(swarm, away);
  run_to_the_end(swarm, rounds);
  CHECK(states(swarm) == 1);
}
