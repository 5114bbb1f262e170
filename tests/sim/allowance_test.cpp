// What a person lets a peer take, on whole nodes in the simulated world: caps, quota, quiet hours.
#include "grapevine/base/log.hpp"
#include "grapevine/net/blob_exchange.hpp"
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

constexpr std::size_t frugal = 2;

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

std::size_t states(Swarm const& swarm) {
  std::set<Hash> all;
  for (auto const& [machine, ending] : swarm.endings) all.insert(ending.state);
  return all.size();
}

Snapshot shown(Swarm& swarm, std::size_t machine) { return swarm.node(machine).snapshot(); }

bool has_problem(Snapshot const& snapshot, std::string_view code) {
  return std::ranges::any_of(snapshot.errors,
                             [&](auto const& problem) { return problem.code == code; });
}

// How often the others' ledgers have that peer as an input, and as missing.
struct Mentions {
  std::size_t inputs = 0;
  std::size_t missing = 0;
};
Mentions mentions_of(Swarm& swarm, PeerId const& who) {
  Mentions found;
  auto const is_it = [&](auto const& one) { return one.peer == who; };
  for (std::size_t machine = 0; machine < 4; ++machine) {
    if (machine == frugal) continue;
    auto const ledger = swarm.ledger(machine);
    REQUIRE(ledger.has_value());
    for (auto const& entry : *ledger) {
      found.inputs += static_cast<std::size_t>(std::ranges::count_if(entry->inputs, is_it));
      found.missing += static_cast<std::size_t>(std::ranges::count_if(entry->missing, is_it));
    }
  }
  return found;
}

}  // namespace

TEST_CASE("a peer with caps is mixed with, and stops nobody") {
  constexpr std::uint64_t rounds = 8;
  auto options = options_of(1, rounds);
  options.hidden = 256;
  options.allowances[frugal].up_bytes_per_s = 500'000;
  options.allowances[frugal].down_bytes_per_s = 500'000;
  Swarm swarm(options);
  REQUIRE(swarm.world.run_for(1min, [&] { return shown(swarm, frugal).run.has_value(); }));
  auto const caps = shown(swarm, frugal).network.caps;
  CHECK(caps.up_bytes_per_s == 500'000);
  CHECK(caps.down_bytes_per_s == 500'000);
  CHECK_FALSE(caps.month_bytes_max.has_value());
  auto const who = shown(swarm, frugal).id;
  run_to_the_end(swarm, rounds);
  CHECK(states(swarm) == 1);
  CHECK(mentions_of(swarm, who).inputs > 0);
}

TEST_CASE("a peer whose caps are far too low for its run is left out, and stops nobody") {
  constexpr std::uint64_t rounds = 6;
  auto options = options_of(2, rounds);
  options.hidden = 1024;
  options.allowances[frugal].up_bytes_per_s = BlobExchange::rate_cap_min;
  Swarm swarm(options);
  Instant const begin = swarm.world.now();
  auto const others_ended = [&] {
    return std::ranges::all_of(swarm.endings, [](auto const& entry) {
      return entry.first == frugal || entry.second.ended;
    });
  };
  REQUIRE(swarm.world.run_until(begin + 30min, others_ended));
  for (auto const& [machine, ending] : swarm.endings) {
    if (machine != frugal) CHECK(ending.round == rounds);
  }
}

TEST_CASE("a used up quota is a planned absence until the month is over") {
  constexpr std::uint64_t rounds = 0;
  auto options = options_of(3, rounds);
  options.allowances[frugal].month_bytes = 3'000'000;
  Swarm swarm(options);
  REQUIRE(
      swarm.world.run_for(30min, [&] { return shown(swarm, frugal).state == PeerState::paused; }));
  auto const paused = shown(swarm, frugal);
  REQUIRE(paused.pause.has_value());
  CHECK(paused.pause->reason == "monthly quota");
  CHECK(paused.pause->until_unix_s == paused.network.caps.month_ends_unix_s);
  CHECK(paused.network.caps.month_bytes_max == 3'000'000);
  CHECK(paused.network.caps.month_bytes > 1'000'000);
  CHECK(paused.network.caps.month_bytes <= 3'000'000);
  CHECK(has_problem(paused, "GV-RUN-010"));

  // What it used is not forgotten with its power.
  auto const round = paused.round.current;
  swarm.world.run_for(2min);
  auto const before = shown(swarm, frugal).network.caps.month_bytes;
  swarm.world.crash(frugal);
  swarm.world.restart(frugal);
  REQUIRE(
      swarm.world.run_for(1min, [&] { return shown(swarm, frugal).state == PeerState::paused; }));
  CHECK(shown(swarm, frugal).network.caps.month_bytes > before / 2);
  CHECK(shown(swarm, frugal).round.current == round);
  CHECK(mentions_of(swarm, paused.id).missing == 0);

  swarm.world.jump_wall_clock(frugal, 31 * 24h);
  REQUIRE(
      swarm.world.run_for(5min, [&] { return shown(swarm, frugal).state == PeerState::training; }));
  CHECK(shown(swarm, frugal).network.caps.month_bytes < 3'000'000);
  CHECK_FALSE(shown(swarm, frugal).pause.has_value());
}

TEST_CASE("in its quiet hours a peer rests, and goes on after them") {
  constexpr std::uint64_t rounds = 0;
  auto options = options_of(4, rounds);
  options.allowances[frugal].quiet_hours = QuietHours::parse("22:00-07:00").value();
  // By this peer's wall clock it is 21:59 when the world begins.
  auto const world_begins = Swarm(options_of(4, 1)).world.doors(0).clock.unix_ns() / 1'000'000'000;
  std::uint64_t const minute_before = 22 * 3600 - 60;
  options.allowances[frugal].utc_offset_s = [=](std::uint64_t) {
    return static_cast<std::int64_t>(minute_before) -
           static_cast<std::int64_t>(world_begins % 86400);
  };
  Swarm swarm(options);
  REQUIRE(swarm.world.run_for(50s, [&] { return shown(swarm, frugal).round.current >= 1; }));
  CHECK_FALSE(shown(swarm, frugal).pause.has_value());
  REQUIRE(
      swarm.world.run_for(2min, [&] { return shown(swarm, frugal).state == PeerState::paused; }));
  auto const paused = shown(swarm, frugal);
  CHECK(paused.pause->reason == "quiet hours");
  CHECK(paused.pause->until_unix_s == world_begins + 60 + 9 * 3600);
  swarm.world.run_for(1min);
  CHECK(shown(swarm, frugal).round.current == paused.round.current);
  CHECK(mentions_of(swarm, paused.id).missing == 0);

  swarm.world.jump_wall_clock(frugal, 9h);
  REQUIRE(
      swarm.world.run_for(5min, [&] { return shown(swarm, frugal).state == PeerState::training; }));
  CHECK_FALSE(shown(swarm, frugal).pause.has_value());
}
