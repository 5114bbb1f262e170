// Rest: what the round machine does between Pause and Resume, and what the others make of it.
#include "grapevine/round/round.hpp"
#include "unit/round/round_world.hpp"

#include <doctest/doctest.h>

using namespace grapevine;
using grapevine::test::blob_named;
using grapevine::test::peer_number;
using grapevine::test::RoundWorld;

namespace {

RoundSettings settings_of_one(Mixing mixing = {}) {
  RoundSettings settings;
  settings.self = peer_number(1);
  settings.mixing = mixing;
  settings.inner_steps = 20;
  settings.wait_min = 2s;
  settings.wait_max = 60s;
  settings.beacon_ttl = 60s;
  return settings;
}

template <class Action>
std::size_t count_of(std::vector<RoundAction> const& actions) {
  return static_cast<std::size_t>(std::ranges::count_if(
      actions, [](auto const& action) { return std::holds_alternative<Action>(action); }));
}

Contribution contribution_in(std::uint64_t round, Hash base) {
  Contribution made;
  made.round = round;
  made.base = base;
  made.tokens = 10;
  made.shards = {blob_named("ours")};
  return made;
}

Beacon beacon_in(std::uint64_t sequence, Version const& version,
                 PeerState state = PeerState::training) {
  Beacon beacon;
  beacon.sequence = sequence;
  beacon.state = state;
  beacon.round = version.round;
  beacon.state_hash = version.state;
  return beacon;
}

bool mentions(round_action::Apply const& apply, PeerId const& peer) {
  return std::ranges::any_of(apply.mixed.at(0).missing,
                             [&](auto const& missing) { return missing.peer == peer; });
}

bool mixed_with(round_action::Apply const& apply, PeerId const& peer) {
  return std::ranges::any_of(apply.mixed.at(0).inputs,
                             [&](auto const& input) { return input.peer == peer; });
}

}  // namespace

TEST_CASE("a peer that pauses and comes back is never missing, and counts again") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    RoundWorld world(4, seed, 40);
    world.start_all();
    SeededRandom random(seed);
    // Not before they have heard of each other; in any phase of a round.
    auto const pause_at = Duration(3s) + Duration(random.below(4'000'000'000));
    auto const resume_at = pause_at + Duration(100ms) + Duration(random.below(6'000'000'000));
    std::uint64_t paused_in = 0;
    world.later(pause_at, [&] {
      paused_in = world[2].round->version().round;
      world.pause(2);
    });
    world.later(resume_at, [&] { world.resume(2); });
    CHECK(world.run(1h, [&] { return world.all_finished() && world.versions().size() == 1; }));
    std::uint64_t mixed_after = 0;
    for (std::size_t const i : {0, 1, 3})
      for (auto const& apply : world[i].applied) {
        CHECK_FALSE((apply.round >= paused_in && mentions(apply, world.id(2))));
        if (apply.round > paused_in + 1 && mixed_with(apply, world.id(2))) ++mixed_after;
      }
    CHECK(mixed_after > 0);
  }
}

TEST_CASE("whoever is left goes on while another is paused, and is joined later") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    RoundWorld world(2, seed, 30);
    world.start_all();
    world.later(2s, [&] { world.pause(1); });
    CHECK(world.run(1h, [&] { return world[0].round->version().round == 20; }));
    CHECK(world[1].round->phase() == RoundPhase::paused);
    CHECK(world[1].round->beacon_state() == PeerState::paused);
    CHECK(world[1].syncs.empty());
    auto const done = world[1].applied.size();
    world.resume(1);
    CHECK(world.run(1h, [&] { return world.all_finished() && world.versions().size() == 1; }));
    REQUIRE(world[1].applied.size() > done);
    CHECK(world[1].applied[done].round >= 20);
    CHECK(world[1].applied.back().mixed.at(0).inputs.size() == 2);
  }
}

TEST_CASE("training is left at once, a round that is mixed is ended first") {
  Round round(settings_of_one());
  Instant now{};
  (void)round.on(round_event::Start{{5, {}}, false}, now);

  auto const left = round.on(round_event::Pause{}, now);
  CHECK(count_of<round_action::StopInner>(left) == 1);
  CHECK(count_of<round_action::BeaconNow>(left) == 1);
  CHECK(round.phase() == RoundPhase::paused);
  CHECK(round.on(round_event::InnerDone{20, 1s}, now).empty());  // was on its way
  CHECK(round.on(round_event::Tick{}, now + 1h).empty());

  auto const resumed = round.on(round_event::Resume{}, now);
  REQUIRE(count_of<round_action::StartInner>(resumed) == 1);
  CHECK(std::get<round_action::StartInner>(resumed.at(0)).again);
  CHECK(round.phase() == RoundPhase::training);

  (void)round.on(round_event::InnerDone{20, 1s}, now += 3s);
  REQUIRE(round.phase() == RoundPhase::preparing);
  CHECK(round.on(round_event::Pause{}, now).empty());
  auto const alone = round.on(round_event::Prepared{contribution_in(5, {})}, now);
  REQUIRE(count_of<round_action::Average>(alone) == 1);
  CHECK(round.phase() == RoundPhase::collecting);
  (void)round.on(round_event::Averaged{MixLane::gradients, 5, 0, blob_named("mean"), ""}, now);
  REQUIRE(round.phase() == RoundPhase::applying);
  auto const applied = round.on(round_event::Applied{{6, sha256({})}}, now);
  CHECK(count_of<round_action::StartInner>(applied) == 0);
  CHECK(count_of<round_action::BeaconNow>(applied) == 1);
  CHECK(round.phase() == RoundPhase::paused);

  auto const next = round.on(round_event::Resume{}, now);
  REQUIRE(count_of<round_action::StartInner>(next) == 1);
  CHECK_FALSE(std::get<round_action::StartInner>(next.at(0)).again);
}

TEST_CASE("a pause that is taken back before the round ends has no effect") {
  Round round(settings_of_one());
  (void)round.on(round_event::Start{}, Instant{});
  (void)round.on(round_event::InnerDone{20, 1s}, Instant{} + 3s);
  REQUIRE(round.phase() == RoundPhase::preparing);
  (void)round.on(round_event::Pause{}, Instant{} + 3s);
  CHECK(round.on(round_event::Resume{}, Instant{} + 3s).empty());
  (void)round.on(round_event::Prepared{contribution_in(0, {})}, Instant{} + 3s);
  (void)round.on(round_event::Averaged{MixLane::gradients, 0, 0, blob_named("mean"), ""},
                 Instant{} + 3s);
  auto const next = round.on(round_event::Applied{{1, {}}}, Instant{} + 3s);
  CHECK(count_of<round_action::StartInner>(next) == 1);
}

TEST_CASE("a peer that is paused before it starts trains nothing until it is resumed") {
  Round round(settings_of_one());
  (void)round.on(round_event::Pause{}, Instant{});
  CHECK(round.phase() == RoundPhase::idle);
  auto const started = round.on(round_event::Start{{3, {}}, false}, Instant{});
  CHECK(count_of<round_action::StartInner>(started) == 0);
  CHECK(round.phase() == RoundPhase::paused);
  CHECK(count_of<round_action::StartInner>(round.on(round_event::Resume{}, Instant{})) == 1);
}

TEST_CASE("a state that is being pulled when the pause comes is not waited for") {
  Round round(settings_of_one());
  (void)round.on(round_event::Start{}, Instant{});
  Version const ahead{4, sha256(as_bytes("theirs"))};
  auto const behind =
      round.on(round_event::BeaconSeen{peer_number(2), beacon_in(1, ahead)}, Instant{});
  REQUIRE(count_of<round_action::Sync>(behind) == 1);
  (void)round.on(round_event::Pause{}, Instant{});
  CHECK(round.phase() == RoundPhase::paused);
  CHECK_FALSE(round.awaits(ahead));
  CHECK(round.on(round_event::Synced{ahead}, Instant{}).empty());
  CHECK(round.version().round == 0);
  // The others are still ahead: it comes back by way of their state.
  auto const resumed = round.on(round_event::Resume{}, Instant{});
  REQUIRE(count_of<round_action::Sync>(resumed) == 1);
  CHECK(count_of<round_action::StartInner>(resumed) == 0);
  (void)round.on(round_event::Synced{ahead}, Instant{});
  CHECK(round.version() == ahead);
  CHECK(round.beacon_state() == PeerState::syncing);  // with weight zero until the round is over
}

TEST_CASE("a paused peer pulls nothing for an average that it would have made") {
  Round round(settings_of_one());
  (void)round.on(round_event::Start{}, Instant{});
  (void)round.on(round_event::Pause{}, Instant{});
  auto theirs = contribution_in(0, {});
  theirs.shards = {blob_named("theirs")};
  CHECK(round.on(round_event::ContributionSeen{peer_number(2), theirs}, Instant{}).empty());
}

TEST_CASE("who had trained all steps when it was paused trains none of them again") {
  Round round(settings_of_one());
  Instant now{};
  (void)round.on(round_event::Start{{1, {}}, false}, now);
  // Most others are a round behind: it waits for them with its steps done.
  for (std::uint8_t const n : {2, 3})
    (void)round.on(round_event::BeaconSeen{peer_number(n), beacon_in(1, {})}, now);
  (void)round.on(round_event::InnerDone{20, 1s}, now += 3s);
  REQUIRE(round.phase() == RoundPhase::training);
  auto const paused = round.on(round_event::Pause{}, now);
  CHECK(count_of<round_action::StopInner>(paused) == 0);
  CHECK(count_of<round_action::StartInner>(round.on(round_event::Resume{}, now)) == 0);
  CHECK(round.phase() == RoundPhase::training);
  for (std::uint8_t const n : {2, 3})
    (void)round.on(round_event::BeaconSeen{peer_number(n), beacon_in(2, {1, {}})}, now += 1s);
  CHECK(round.phase() == RoundPhase::preparing);
}

TEST_CASE("with states of their own: Mix1 that is under way is ended, and kept for the round") {
  Mixing mixing;
  mixing.mix1 = MixPattern::global;
  mixing.mix2 = MixPattern::none;
  Round round(settings_of_one(mixing));
  Instant const now{};
  auto const started = round.on(round_event::Start{}, now);
  REQUIRE(count_of<round_action::Prepare>(started) == 1);
  auto parameters = contribution_in(0, {});
  parameters.lane = MixLane::parameters;
  (void)round.on(round_event::Prepared{parameters}, now);
  (void)round.on(round_event::Pause{}, now);
  CHECK(round.phase() == RoundPhase::paused);
  CHECK(round.waits_for_others());
  (void)round.on(round_event::Averaged{MixLane::parameters, 0, 0, blob_named("parameters"), ""},
                 now);
  CHECK_FALSE(round.waits_for_others());

  auto const resumed = round.on(round_event::Resume{}, now);
  CHECK(count_of<round_action::StartInner>(resumed) == 1);
  CHECK(count_of<round_action::Prepare>(resumed) == 0);  // what it brought is mixed already
  (void)round.on(round_event::InnerDone{20, 1s}, now);
  auto const mixed = round.on(round_event::Prepared{contribution_in(0, {})}, now);
  REQUIRE(count_of<round_action::Apply>(mixed) == 1);
  for (auto const& action : mixed)
    if (auto const* const apply = std::get_if<round_action::Apply>(&action))
      CHECK(apply->mixed.size() == 2);
}

TEST_CASE("a peer that is paused is no failure in a mixing that it left") {
  SwarmView view(60s);
  Version const version{};
  ButterflySettings settings;
  settings.self = peer_number(1);
  settings.wait_min = 2s;
  settings.wait_max = 60s;
  Butterfly butterfly(settings, view);
  (void)butterfly.on(butterfly_event::Began{version}, Instant{});
  for (std::uint8_t const n : {2, 3}) view.saw(peer_number(n), beacon_in(1, version), Instant{});
  (void)butterfly.on(butterfly_event::Tick{}, Instant{});  // both count
  view.saw(peer_number(2), beacon_in(2, version, PeerState::paused), Instant{} + 1s);
  view.lost(peer_number(3));
  (void)butterfly.on(butterfly_event::Contributed{contribution_in(0, {})}, Instant{} + 1s);
  (void)butterfly.on(butterfly_event::Collect{1s}, Instant{} + 1s);
  // Nobody is left to wait for.
  auto const actions = butterfly.on(butterfly_event::Tick{}, Instant{} + 1s);
  REQUIRE(actions.size() == 1);
  CHECK(std::holds_alternative<butterfly_action::Average>(actions[0]));
  (void)butterfly.on(butterfly_event::Averaged{MixLane::gradients, 0, 0, blob_named("mean"), ""},
                     Instant{} + 1s);
  auto const closed = butterfly.on(butterfly_event::Tick{}, Instant{} + 1s);
  REQUIRE(closed.size() == 1);
  auto const& missing = std::get<butterfly_action::Closed>(closed[0]).missing;
  REQUIRE(missing.size() == 1);
  CHECK(missing[0].peer == peer_number(3));
}
