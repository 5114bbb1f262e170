#include "grapevine/round/pair_exchange.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>

#include "grapevine/base/limits.hpp"
#include "unit/round/pair_world.hpp"

using namespace grapevine;
using grapevine::test::PairWorld;
using grapevine::test::peer_number;

namespace {

bool is_verdict(pair_action::Send const& sent, MixVerdict verdict) {
  auto const* const answer = std::get_if<MixAnswer>(&sent.message);
  return answer != nullptr && answer->verdict == verdict;
}

bool has_stop(std::vector<PairAction> const& actions, PairKey const& exchange) {
  return std::ranges::any_of(actions, [&](PairAction const& action) {
    auto const* const stop = std::get_if<pair_action::StopPull>(&action);
    return stop != nullptr && stop->exchange == exchange;
  });
}

bool has_closed(std::vector<PairAction> const& actions) {
  return std::ranges::any_of(actions, [](PairAction const& action) {
    return std::holds_alternative<pair_action::Closed>(action);
  });
}

// One machine in round `round`, and what it says to a partner that is ready too.
struct Alone {
  Alone(PeerId self, PeerId other, PairMemory memory, std::uint64_t in_round)
      : Alone(std::move(self), std::move(other), std::move(memory), in_round, MixLane::joint, {}) {
    meet();
    (void)on(pair_event::Pulled{exchange(), ""});
  }
  // One that has seen the other and heard nothing of it.
  Alone(PeerId self, PeerId other, PairMemory memory, std::uint64_t in_round, MixLane of,
        Duration inner_took)
      : partner(other),
        round(in_round),
        lane(of),
        machine(settings_of(self, lane), view, std::move(memory)) {
    Beacon beacon;
    beacon.sequence = 1;
    beacon.round = round;
    beacon.state = PeerState::mixing;
    REQUIRE(view.saw(partner, beacon, now));
    (void)on(pair_event::Began{round});
    (void)on(pair_event::Ready{offer(), inner_took});
  }
  void meet() {
    (void)on(pair_event::OfferSeen{partner, offer()});
    REQUIRE(machine.phase() == PairPhase::pulling);
  }
  [[nodiscard]] PairKey exchange() const { return {round, lane, partner}; }
  [[nodiscard]] MixOffer offer() const {
    MixOffer made;
    made.round = round;
    made.lane = lane;
    return made;
  }
  static PairSettings settings_of(PeerId const& self, MixLane lane) {
    PairSettings settings;
    settings.self = self;
    settings.lane = lane;
    settings.overlapped = lane == MixLane::parameters;
    settings.wait_min = 2s;
    settings.wait_max = 10s;
    return settings;
  }
  std::vector<PairAction> on(PairEvent const& event) { return machine.on(event, now); }
  std::vector<PairAction> hear(MixVerdict verdict, std::uint64_t of_round) {
    MixAnswer answer;
    answer.round = of_round;
    answer.lane = lane;
    answer.verdict = verdict;
    return on(pair_event::AnswerSeen{partner, answer});
  }

  Instant now{};
  SwarmView view{1h};
  PeerId partner;
  std::uint64_t round;
  MixLane lane;
  PairExchange machine;
};

}  // namespace

TEST_CASE("one peer alone takes its own steps, exactly") {
  PairWorld world(1, 1, 10);
  world.start_all();
  REQUIRE(world.run(1h, [&] { return world.at_rest(); }));
  CHECK(world[0].applied.size() == 10);
  CHECK(world[0].model.z == world[0].alone.z);
  CHECK(world[0].model.v == world[0].alone.v);
}

TEST_CASE("with full views everybody finds a partner, but for one of an odd number") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    std::size_t const count = 2 + seed % 9;
    PairWorld world(count, seed, 8);
    world.start_all();
    REQUIRE(world.run(1h, [&] { return world.at_rest(); }));
    for (std::uint64_t round = 0; round < 8; ++round)
      CHECK(world.matched_in(round) == count / 2 * 2);
    CHECK(world.one_sided() == 0);
    CHECK(world.sum_error() < 1e-12);
  }
}

// The exchange of parameters begins while the beacons that tell of the new round are still on their
// way: two that met too early may have given each other up. Before the first beacon nobody knows
// of anybody, while all still have the same parameters.
TEST_CASE("overlapped with the inner steps nearly everybody finds a partner") {
  std::size_t matched = 0, possible = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    std::size_t const count = 2 + seed % 9;
    PairWorld world(count, seed, 8, false);
    world.start_all();
    REQUIRE(world.run(1h, [&] { return world.at_rest(); }));
    for (std::uint64_t round = 1; round < 8; ++round) matched += world.matched_in(round);
    possible += 7 * (count / 2 * 2);
    CHECK(world.one_sided() == 0);
    CHECK(world.sum_error() < 1e-12);
  }
  MESSAGE("matched " << matched << " of " << possible);
  CHECK(matched * 100 >= possible * 99);
}

TEST_CASE("partners change from round to round") {
  PairWorld world(6, 4, 20);
  world.start_all();
  REQUIRE(world.run(1h, [&] { return world.at_rest(); }));
  std::set<PeerId> partners;
  for (auto const& [round, apply] : world[0].applied)
    if (apply.mixed[0].partner) partners.insert(*apply.mixed[0].partner);
  CHECK(partners.size() == 5);
}

TEST_CASE("with stale views and failures at least nine of ten still exchange") {
  std::size_t matched = 0, possible = 0;
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    CAPTURE(seed);
    std::size_t const count = 6 + seed % 7;
    PairWorld world(count, seed, 12);
    world.beacon_loss = 0.2;
    world.pull_failure = 0.02;
    world.latency_max = 150ms;
    // A fifth of the peers is never heard of by a given other.
    world.sees = [seed](std::size_t a, std::size_t b) {
      return SeededRandom(seed * 1000 + a * 31 + b).below(5) > 0;
    };
    auto const victim = world.random().below(count);
    auto const when = Duration(world.random().below(10'000'000'000));
    world.later(when, [&world, victim] { world.kill(victim); });
    world.start_all();
    REQUIRE(world.run(1h, [&] { return world.all_finished(); }));
    for (std::uint64_t round = 0; round < 12; ++round) {
      matched += world.matched_in(round);
      std::size_t there = 0;
      for (std::size_t i = 0; i < count; ++i) there += world[i].applied.contains(round) ? 1 : 0;
      possible += there / 2 * 2;
    }
    CHECK(world.one_sided() == 0);
  }
  MESSAGE("matched " << matched << " of " << possible);
  CHECK(matched * 10 >= possible * 9);
}

TEST_CASE("whatever is lost or comes out of order, nothing is one-sided and the sum stays") {
  std::size_t exchanges = 0, compared = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    PairWorld world(2 + seed % 6, seed, 6, seed % 2 == 0);
    world.reorders = true;
    world.latency_max = 800ms;
    world.message_loss = 0.15;
    world.pull_failure = 0.1;
    world.beacon_loss = 0.1;
    world.start_all();
    REQUIRE(world.run(2h, [&] { return world.at_rest(); }));
    exchanges += world.exchanges();
    // Who falls far behind takes another's state, and with it what that one has exchanged.
    if (world.syncs() > 0) continue;
    ++compared;
    CHECK(world.one_sided() == 0);
    CHECK(world.sum_error() < 1e-12);
  }
  MESSAGE(exchanges << " exchanges, " << compared << " runs compared");
  CHECK(exchanges > 600);
  CHECK(compared > 75);
}

TEST_CASE("peers that die leave nobody waiting and nothing one-sided among the living") {
  CHECK(rc::check("random deaths", [] {
    auto const seed = *rc::gen::arbitrary<std::uint64_t>();
    auto const count = *rc::gen::inRange<std::size_t>(2, 9);
    PairWorld world(count, seed, 8, seed % 2 == 0);
    world.start_all();
    for (int n = 0; n < 2; ++n) {
      auto const victim = world.random().below(count);
      auto const when = Duration(world.random().below(12'000'000'000));
      world.later(when, [&world, victim] {
        if (world[victim].alive) world.kill(victim);
      });
    }
    RC_ASSERT(world.run(1h, [&] { return world.all_finished(); }));
    RC_ASSERT(world.one_sided() == 0);
  }));
}

TEST_CASE("a lost commit is learnt later, and the sum is what it would have been") {
  for (bool const restarts : {false, true}) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      CAPTURE(restarts);
      CAPTURE(seed);
      PairWorld world(2 + seed % 5, seed, 12, seed % 2 == 0);
      // Rounds as long as a doubt lasts, so that nobody falls far behind and takes another's state.
      for (std::size_t i = 0; i < world.size(); ++i) world[i].step_time = 300ms;
      // The first round's commits are never heard, for as long as half of the run.
      world.loses = [&world](pair_action::Send const& sent) {
        if (!is_verdict(sent, MixVerdict::commit) || world.now() > Instant{} + 40s) return false;
        return std::get<MixAnswer>(sent.message).round == 0;
      };
      world.start_all();
      auto in_doubt = [&] {
        for (std::size_t i = 0; i < world.size(); ++i)
          if (!world[i].doubts.empty()) return true;
        return false;
      };
      REQUIRE(world.run(1h, in_doubt));
      CHECK(world.sum_error() > 1e-6);
      if (restarts)
        for (std::size_t i = 0; i < world.size(); ++i)
          if (!world[i].doubts.empty()) world.restart(i);
      REQUIRE(world.run(1h, [&] { return world.at_rest(); }));
      CHECK(world.syncs() == 0);
      CHECK(world.one_sided() == 0);
      CHECK(world.sum_error() < 1e-12);
    }
  }
}

TEST_CASE("who announces and does not serve is named, and the other goes on") {
  PairWorld world(2, 3, 4);
  world[1].serves = false;
  world.start_all();
  REQUIRE(world.run(1h, [&] { return world.at_rest(); }));
  CHECK(world.exchanges() == 0);
  for (auto const& [round, apply] : world[0].applied) {
    REQUIRE(apply.mixed[0].missing.size() == 1);
    CHECK(apply.mixed[0].missing[0].peer == world.id(1));
  }
}

TEST_CASE("a peer that fell behind is in step again after a round") {
  PairWorld world(4, 6, 30);
  world.start_all();
  world.later(5s, [&] { world[2].step_time = 300ms; });
  world.later(20s, [&] { world[2].step_time = 50ms; });
  REQUIRE(world.run(1h, [&] { return world.at_rest(); }));
  CHECK(world[2].applied.rbegin()->second.mixed[0].inputs.size() == 2);
  CHECK(world.matched_in(29) == 4);
}

TEST_CASE("without mixing everybody is alone and says nothing") {
  RoundSettings settings;
  settings.mixing.mix1 = settings.mixing.mix2 = MixPattern::none;
  settings.self = test::peer_number(1);
  settings.rounds = 2;
  settings.wait_max = 10s;
  settings.beacon_ttl = 10s;
  Round round(settings);
  Instant const now{};
  auto actions = round.on(round_event::Start{}, now);
  Beacon beacon;
  beacon.sequence = 1;
  beacon.round = 0;
  beacon.state = PeerState::training;
  beacon.state_hash = sha256(as_bytes("another"));
  CHECK(round.on(round_event::BeaconSeen{test::peer_number(2), beacon}, now + 5s).empty());
  actions = round.on(round_event::InnerDone{1, 1s}, now + 5s);
  REQUIRE(std::holds_alternative<round_action::Prepare>(actions.at(0)));
  Contribution mine;
  mine.shards = {test::blob_named("mine")};
  mine.tokens = 7;
  actions = round.on(round_event::Prepared{mine}, now + 5s);
  auto const* const apply = std::get_if<round_action::Apply>(&actions.back());
  REQUIRE(apply != nullptr);
  CHECK(apply->has_gradient);
  REQUIRE(apply->mixed.size() == 1);
  REQUIRE(apply->mixed[0].inputs.size() == 1);
  CHECK(apply->mixed[0].inputs[0].tokens == 7);
  CHECK(apply->mixed[0].missing.empty());
}

TEST_CASE("a trainer that fails sits the round out") {
  RoundSettings settings;
  settings.mixing.mix1 = settings.mixing.mix2 = MixPattern::pair;
  settings.mixing.joint = true;
  settings.self = test::peer_number(1);
  settings.shards = 2;
  settings.wait_max = 10s;
  settings.beacon_ttl = 10s;
  Round round(settings);
  (void)round.on(round_event::Start{}, Instant{});
  auto const actions = round.on(round_event::InnerFailed{}, Instant{});
  auto const* const apply = std::get_if<round_action::Apply>(&actions.back());
  REQUIRE(apply != nullptr);
  CHECK_FALSE(apply->has_gradient);
  REQUIRE(apply->mixed.size() == 1);
  CHECK(apply->mixed[0].lane == MixLane::joint);
  CHECK_FALSE(apply->mixed[0].partner.has_value());
  CHECK(apply->mixed[0].inputs.empty());
}

TEST_CASE("doubts are kept up to their limit; one more settles the oldest as given up") {
  for (std::size_t const known :
       {std::size_t{0}, limits::pair_doubts_max - 1, limits::pair_doubts_max}) {
    CAPTURE(known);
    PairMemory memory;
    auto const partner = test::peer_number(1);
    for (std::size_t i = 0; i < known; ++i) memory.doubts.insert({i, MixLane::joint, partner});
    Alone higher(test::peer_number(2), partner, memory, 100);
    REQUIRE(higher.machine.phase() == PairPhase::prepared);
    higher.now += 1min;
    std::size_t closed_in_doubt = 0;
    std::vector<PairKey> given_up;
    for (auto const& action : higher.on(pair_event::Tick{})) {
      if (auto const* const closed = std::get_if<pair_action::Closed>(&action))
        closed_in_doubt += closed->doubt == partner ? 1 : 0;
      if (auto const* const settled = std::get_if<pair_action::Settled>(&action)) {
        CHECK_FALSE(settled->committed);
        given_up.push_back(settled->exchange);
      }
    }
    CHECK(closed_in_doubt == 1);
    if (known < limits::pair_doubts_max)
      CHECK(given_up.empty());
    else
      CHECK(given_up == std::vector<PairKey>{{0, MixLane::joint, partner}});
  }
}

TEST_CASE("decisions are remembered up to their limit; what is older is answered with abort") {
  for (std::size_t const known :
       {std::size_t{0}, limits::pair_decisions_max - 1, limits::pair_decisions_max}) {
    CAPTURE(known);
    PairMemory memory;
    auto const partner = test::peer_number(2);
    for (std::size_t i = 0; i < known; ++i) memory.committed.insert({i, MixLane::joint, partner});
    std::uint64_t const round = 2 * limits::pair_decisions_max;
    Alone lower(test::peer_number(1), partner, memory, round);
    auto const decide = lower.hear(MixVerdict::prepared, round);
    REQUIRE(std::holds_alternative<pair_action::Decide>(decide.back()));
    (void)lower.on(pair_event::Decided{{round, MixLane::joint, partner}, ""});
    auto const said_of = [&](std::uint64_t asked) {
      auto const answer = lower.hear(MixVerdict::prepared, asked);
      REQUIRE(answer.size() == 1);
      return std::get<MixAnswer>(std::get<pair_action::Send>(answer[0]).message).verdict;
    };
    CHECK(said_of(round) == MixVerdict::commit);
    bool const oldest_is_kept = known > 0 && known < limits::pair_decisions_max;
    CHECK(said_of(0) == (oldest_is_kept ? MixVerdict::commit : MixVerdict::abort));
    if (known > 1) CHECK(said_of(1) == MixVerdict::commit);
  }
}

TEST_CASE("a pull whose exchange has ended is stopped") {
  auto const low = peer_number(1), high = peer_number(2);
  for (auto const verdict : {MixVerdict::busy, MixVerdict::refused, MixVerdict::abort}) {
    Alone one(high, low, {}, 3, MixLane::joint, {});
    one.meet();
    CHECK(has_stop(one.hear(verdict, 3), one.exchange()));
  }
  Alone late(high, low, {}, 3, MixLane::joint, {});
  late.meet();
  late.now += 11s;  // wait_max is over
  CHECK(has_stop(late.on(pair_event::Tick{}), late.exchange()));
  Alone follows(high, low, {}, 3, MixLane::joint, {});
  follows.meet();
  CHECK(has_stop(follows.on(pair_event::Began{4, true}), follows.exchange()));
  Alone done(low, high, {}, 3);  // has pulled, and waits for the other
  CHECK_FALSE(has_stop(done.hear(MixVerdict::busy, 3), done.exchange()));
}

TEST_CASE("overlapped, one whose exchange failed does not wait for the one it failed with") {
  Alone one(peer_number(1), peer_number(2), {}, 3, MixLane::parameters, 9s);
  one.meet();
  CHECK(has_closed(one.on(pair_event::Pulled{one.exchange(), "connection lost"})));
}

TEST_CASE("overlapped, a partner is looked for in the time given to that, not in the transfer's") {
  Alone one(peer_number(1), peer_number(2), {}, 3, MixLane::parameters, 4s);
  one.now += 3s;
  CHECK_FALSE(has_closed(one.on(pair_event::Tick{})));
  one.now += 1s;
  CHECK(has_closed(one.on(pair_event::Tick{})));
}
