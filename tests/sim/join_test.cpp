// Joining over a link that breaks, with whole nodes in the simulated world.
#include "grapevine/base/log.hpp"
#include "grapevine/world/swarm.hpp"

#include <doctest/doctest.h>

using namespace grapevine;
using grapevine::world::Swarm;
using grapevine::world::SwarmOptions;

TEST_CASE("a newcomer that loses its link half-way goes on with what it has") {
  set_log_level(LogLevel::off);
  SwarmOptions options;
  options.peers = 1;
  options.rounds = 3;
  options.inner_steps = 200;
  options.hidden = 1024;
  Swarm swarm(options);
  Instant const begin = swarm.world.now();
  auto const round_of = [&](std::size_t machine) {
    return swarm.node(machine).snapshot().round.current;
  };
  auto const pulled = [&] { return swarm.node(1).snapshot().network.blob_bytes_fetched; };
  REQUIRE(swarm.world.run_until(begin + 10min, [&] { return round_of(0) == 1; }));
  std::uint64_t const state_bytes =  // parameters and momentum
      2 * sizeof(float) * swarm.node(0).snapshot().run->parameters;

  swarm.add_peer();
  auto const half = [&] { return swarm.world.running(1) && pulled() > state_bytes / 2; };
  REQUIRE(swarm.world.run_for(1min, half));
  swarm.world.partition({{0}, {1}});
  swarm.world.cut_connections(0, 1);
  swarm.world.run_for(20s);
  CHECK(swarm.node(1).state_hash().is_zero());  // it did not begin the run again by itself
  swarm.world.heal();
  REQUIRE(swarm.world.run_for(1min, [&] { return !swarm.node(1).state_hash().is_zero(); }));
  CHECK(swarm.node(1).state_hash() == swarm.node(0).state_hash());
  CHECK(round_of(0) == 1);
  CHECK(pulled() >= state_bytes);
  CHECK(pulled() < state_bytes + state_bytes / 8);  // a shard that was on its way, and the talk

  REQUIRE(swarm.world.run_for(30min, [&] { return swarm.all_ended(); }));
  CHECK(swarm.endings.at(1).error.empty());
  CHECK(swarm.endings.at(1).state == swarm.endings.at(0).state);
  CHECK(swarm.ledger(0)->back()->inputs.size() == 2);
}

TEST_CASE("those who come when a round has just begun count in it") {
  set_log_level(LogLevel::off);
  SwarmOptions options;
  options.peers = 4;
  options.rounds = 1;
  Swarm swarm(options);
  REQUIRE(swarm.world.run_for(10min, [&] { return swarm.all_ended(); }));
  for (auto const& [machine, ending] : swarm.endings) {
    CAPTURE(machine);
    CHECK(ending.state == swarm.endings.at(0).state);
    CHECK(swarm.ledger(machine)->front()->inputs.size() == 4);
  }
}

TEST_CASE("a newcomer comes into a run whose rounds are far shorter than its pull") {
  set_log_level(LogLevel::off);
  for (auto const delay : {2ms, 20ms, 60ms}) {
    CAPTURE(to_seconds(delay));
    SwarmOptions options;
    options.peers = 1;
    options.rounds = 0;
    options.inner_steps = 2;
    options.link = {sim::rules::delay(delay)};
    options.machines[0] = {.train = {1ms, 2ms}, .heavy = {1ms, 2ms}};
    options.machines[1] = options.machines[0];
    Swarm swarm(options);
    swarm.world.run_for(10s);
    CHECK(swarm.node(0).snapshot().round.current > 200);  // twenty a second and more

    swarm.add_peer();
    auto const together = [&] {
      return swarm.world.running(1) && swarm.node(0).snapshot().round.mix2.participants.size() == 2;
    };
    CHECK(swarm.world.run_for(10s, together));
  }
}
