// What a person lets a peer take, on whole nodes in the simulated world: caps, quota, quiet hours.
#include "grapevine/net/blob_exchange.hpp"
#include "grapevine/world/swarm.hpp"

#include "four_peers.hpp"
#include "run_to_the_end.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace grapevine;
using namespace grapevine::test;
using grapevine::world::Swarm;

namespace {

Snapshot shown(Swarm& swarm, std::size_t machine) { return swarm.node(machine).snapshot(); }

bool has_problem(Snapshot const& snapshot, std::string_view code) {
  return std::ranges::any_of(snapshot.errors,
                             [&](auto const& problem) { return problem.code == code; });
}

}  // namespace

TEST_CASE("a peer with caps is mixed with, and stops nobody") {
  constexpr std::uint64_t rounds = 8;
  auto options = four_peers(1, rounds);
  options.hidden = 256;
  options.allowances[away].up_bytes_per_s = 500'000;
  options.allowances[away].down_bytes_per_s = 500'000;
  Swarm swarm(options);
  REQUIRE(swarm.world.run_for(1min, [&] { return shown(swarm, away).run.has_value(); }));
  auto const caps = shown(swarm, away).network.caps;
  CHECK(caps.up_bytes_per_s == 500'000);
  CHECK(caps.down_bytes_per_s == 500'000);
  CHECK_FALSE(caps.month_bytes_max.has_value());
  auto const who = shown(swarm, away).id;
  run_to_the_end(swarm, rounds);
  CHECK(states(swarm) == 1);
  CHECK(mentions_of(swarm, who).inputs > 0);
}

TEST_CASE("a peer whose caps are far too low for its run is left out, and stops nobody") {
  constexpr std::uint64_t rounds = 6;
  auto options = four_peers(2, rounds);
  options.hidden = 1024;
  options.allowances[away].up_bytes_per_s = BlobExchange::rate_cap_min;
  Swarm swarm(options);
  Instant const begin = swarm.world.now();
  auto const others_ended = [&] {
    return std::ranges::all_of(
        swarm.endings, [](auto const& entry) { return entry.first == away || entry.second.ended; });
  };
  REQUIRE(swarm.world.run_until(begin + 30min, others_ended));
  for (auto const& [machine, ending] : swarm.endings) {
    if (machine != away) CHECK(ending.round == rounds);
  }
}

TEST_CASE("a used up quota is a planned absence until the month is over") {
  constexpr std::uint64_t rounds = 0;
  auto options = four_peers(3, rounds);
  options.allowances[away].month_bytes = 3'000'000;
  Swarm swarm(options);
  REQUIRE(
      swarm.world.run_for(30min, [&] { return shown(swarm, away).state == PeerState::paused; }));
  auto const paused = shown(swarm, away);
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
  auto const before = shown(swarm, away).network.caps.month_bytes;
  swarm.world.crash(away);
  swarm.world.restart(away);
  REQUIRE(swarm.world.run_for(1min, [&] { return shown(swarm, away).state == PeerState::paused; }));
  CHECK(shown(swarm, away).network.caps.month_bytes > before / 2);
  CHECK(shown(swarm, away).round.current == round);
  CHECK(mentions_of(swarm, paused.id).missing == 0);

  swarm.world.jump_wall_clock(away, 31 * 24h);
  REQUIRE(
      swarm.world.run_for(5min, [&] { return shown(swarm, away).state == PeerState::training; }));
  CHECK(shown(swarm, away).network.caps.month_bytes < 3'000'000);
  CHECK_FALSE(shown(swarm, away).pause.has_value());
}

TEST_CASE("in its quiet hours a peer rests, and goes on after them") {
  constexpr std::uint64_t rounds = 0;
  auto options = four_peers(4, rounds);
  options.allowances[away].quiet_hours = QuietHours::parse("22:00-07:00").value();
  // By this peer's wall clock it is 21:59 when the world begins.
  auto const world_begins = Swarm(four_peers(4, 1)).world.doors(0).clock.unix_ns() / 1'000'000'000;
  std::uint64_t const minute_before = 22 * 3600 - 60;
  options.allowances[away].utc_offset_s = [=](std::uint64_t) {
    return static_cast<std::int64_t>(minute_before) -
           static_cast<std::int64_t>(world_begins % 86400);
  };
  Swarm swarm(options);
  REQUIRE(swarm.world.run_for(50s, [&] { return shown(swarm, away).round.current >= 1; }));
  CHECK_FALSE(shown(swarm, away).pause.has_value());
  REQUIRE(swarm.world.run_for(2min, [&] { return shown(swarm, away).state == PeerState::paused; }));
  auto const paused = shown(swarm, away);
  CHECK(paused.pause->reason == "quiet hours");
  CHECK(paused.pause->until_unix_s == world_begins + 60 + 9 * 3600);
  swarm.world.run_for(1min);
  CHECK(shown(swarm, away).round.current == paused.round.current);
  CHECK(mentions_of(swarm, paused.id).missing == 0);

  swarm.world.jump_wall_clock(away, 9h);
  REQUIRE(
      swarm.world.run_for(5min, [&] { return shown(swarm, away).state == PeerState::training; }));
  CHECK_FALSE(shown(swarm, away).pause.has_value());
}
