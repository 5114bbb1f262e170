#include "grapevine/round/round.hpp"

#include "grapevine/base/limits.hpp"
#include "unit/round/round_world.hpp"

#include <doctest/doctest.h>

using namespace grapevine;
using grapevine::test::blob_named;
using grapevine::test::peer_number;
using grapevine::test::RoundWorld;

namespace {

// A machine that a test feeds by hand.
RoundSettings settings_of_one() {
  RoundSettings settings;
  settings.self = peer_number(1);
  settings.inner_steps = 20;
  settings.wait_min = 2s;
  settings.wait_max = 60s;
  settings.beacon_ttl = 60s;
  return settings;
}

}  // namespace

TEST_CASE("one peer alone goes from round to round by itself") {
  RoundWorld world(1, 1, 10);
  world.start_all();
  CHECK(world.run(1h, [&] { return world.all_finished(); }));
  REQUIRE(world[0].applied.size() == 10);
  for (auto const& apply : world[0].applied) {
    CHECK(apply.mixed[0].inputs.size() == 1);
    CHECK(apply.mixed[0].missing.empty());
    for (auto const& result : apply.mixed[0].results) CHECK(result.has_value());
  }
}

TEST_CASE("peers that lose nobody agree on every round and miss nobody") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    RoundWorld world(5, seed, 10);
    world.start_all();
    CHECK(world.run(1h, [&] { return world.all_finished() && world.versions().size() == 1; }));
    for (std::size_t i = 0; i < 5; ++i) {
      // The first round may begin before the others were heard of.
      for (std::size_t r = 1; r < world[i].applied.size(); ++r) {
        CHECK(world[i].applied[r].mixed[0].inputs.size() == 5);
        CHECK(world[i].applied[r].mixed[0].missing.empty());
      }
    }
  }
}

TEST_CASE("a peer that dies is named as missing and the others finish together") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    RoundWorld world(4, seed, 12);
    world.start_all();
    SeededRandom random(seed);
    world.later(Duration(random.below(3'000'000'000)), [&] { world.kill(2); });
    CHECK(world.run(1h, [&] { return world.all_finished() && world.versions().size() == 1; }));
  }
}

TEST_CASE("a peer that announces and never serves is passed over") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    RoundWorld world(4, seed, 6);
    world[1].serves = false;
    world.start_all();
    auto const honest = [&] {
      std::set<Version> versions;
      for (std::size_t i : {0, 2, 3}) versions.insert(world[i].round->version());
      return versions.size();
    };
    CHECK(world.run(1h, [&] { return world.all_finished() && honest() == 1; }));
    bool named = false;
    for (auto const& apply : world[0].applied)
      for (auto const& missing : apply.mixed[0].missing) named |= missing.peer == world.id(1);
    CHECK(named);
  }
}

TEST_CASE("a reducer whose results nobody can pull costs time, not the shards") {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    CAPTURE(seed);
    RoundWorld world(4, seed, 6);
    world[1].serves = false;
    world[1].dribbles = true;
    world.start_all();
    CHECK(
        world.run(1h, [&] { return world[0].finished && world[2].finished && world[3].finished; }));
    for (std::size_t const i : {0, 2, 3})
      for (auto const& apply : world[i].applied)
        for (auto const& result : apply.mixed[0].results) CHECK(result.has_value());
  }
}

TEST_CASE("links that carry nothing cost some inputs, and nobody the agreement") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    RoundWorld world(6, seed, 6);
    SeededRandom random(seed);
    std::set<std::pair<std::size_t, std::size_t>> down;
    for (std::size_t from = 0; from < 6; ++from)
      for (int links = 0; links < 2; ++links) down.emplace(from, (from + 1 + random.below(5)) % 6);
    world.carries = [down](std::size_t from, std::size_t to) { return !down.contains({from, to}); };
    for (std::size_t i = 0; i < 6; ++i) world[i].step_time = 100ms;
    world.start_all();
    CHECK(world.run(1h, [&] { return world.all_finished() && world.versions().size() == 1; }));
    for (std::size_t i = 0; i < 6; ++i) {
      CHECK(world[i].syncs.empty());
      REQUIRE(world[i].applied.size() == 6);
      std::size_t mixed = 0;
      for (auto const& apply : world[i].applied) {
        for (auto const& result : apply.mixed[0].results) CHECK(result.has_value());
        for (auto const& input : apply.mixed[0].inputs) mixed += input.shards;
      }
      CHECK(mixed >= 6 * 6 * 4 / 2);  // of six peers' four shards in each round
    }
  }
}

TEST_CASE("links that are slower than was measured are waited for while they bring something") {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    CAPTURE(seed);
    RoundWorld world(4, seed, 4);
    for (std::size_t i = 0; i < 4; ++i) world[i].step_time = 100ms;
    world.takes = [](std::size_t) { return 9s; };  // 4 ms by the rates that the peers believe in
    world.start_all();
    CHECK(world.run(1h, [&] { return world.all_finished() && world.versions().size() == 1; }));
    for (std::size_t i = 0; i < 4; ++i)
      for (auto const& apply : world[i].applied) CHECK(apply.mixed[0].inputs.size() == 4);
  }
}

TEST_CASE("one who gives what it has to give at a trickle holds nobody up for long") {
  RoundWorld world(5, 1, 6);
  world.takes = [](std::size_t from) { return Duration(from == 2 ? 50s : 1s); };
  world.start_all();
  // A round takes two transfers of a second; with the one awaited it would be 100 s.
  CHECK(world.run(6 * 15s, [&] {
    for (std::size_t i : {0, 1, 3, 4})
      if (!world[i].finished) return false;
    return true;
  }));
}

TEST_CASE("one who announces results of every shard and gives none costs its own shards at most") {
  auto const run = [](bool attack) {
    RoundWorld world(5, 1, 5);
    for (std::size_t i = 0; i < 5; ++i) world[i].step_time = 100ms;
    if (attack) world.forger = 2;
    world.start_all();
    std::array const honest{0, 1, 3, 4};
    CHECK(world.run(5 * 12s, [&] {
      return std::ranges::all_of(honest, [&](std::size_t i) { return world[i].finished; });
    }));
    std::set<Version> versions;
    for (auto const i : honest) {
      versions.insert(world[i].round->version());
      for (auto const& apply : world[i].applied) {
        // In its own shards it can do as it likes.
        auto const lost = std::ranges::count(apply.mixed[0].results, std::optional<BlobRef>{});
        CHECK(lost <= (attack ? 1 : 0));
        for (auto const& input : apply.mixed[0].inputs) CHECK(input.shards >= 3);
      }
    }
    CHECK(versions.size() == 1);
  };
  SUBCASE("without") { run(false); }
  SUBCASE("with") { run(true); }
}

TEST_CASE("a result names what was averaged, not what has come meanwhile") {
  ButterflySettings settings;
  settings.self = peer_number(1);
  settings.wait_min = 2s;
  settings.wait_max = 60s;
  SwarmView const nobody(10s);
  Butterfly butterfly(settings, nobody);
  auto contribution = [](std::string const& name) {
    Contribution made;
    made.tokens = 10;
    made.shards = {blob_named(name)};
    return made;
  };
  (void)butterfly.on(butterfly_event::Began{}, Instant{});
  (void)butterfly.on(butterfly_event::Contributed{contribution("ours")}, Instant{});
  (void)butterfly.on(butterfly_event::Collect{}, Instant{});
  auto const asked = butterfly.on(butterfly_event::Tick{}, Instant{});
  REQUIRE(asked.size() == 1);
  auto const average = std::get<butterfly_action::Average>(asked[0]);
  CHECK(average.inputs.size() == 1);
  // The average is being made when another contribution arrives.
  auto const theirs = contribution("theirs");
  (void)butterfly.on(butterfly_event::ContributionSeen{peer_number(2), theirs}, Instant{});
  (void)butterfly.on(butterfly_event::Tick{}, Instant{});
  (void)butterfly.on(butterfly_event::Fetched{{MixLane::gradients, 0, false, theirs.shards[0]}, ""},
                     Instant{});
  auto const told = butterfly.on(
      butterfly_event::Averaged{MixLane::gradients, 0, 0, blob_named("mean"), ""}, Instant{});
  REQUIRE(told.size() == 1);
  auto const published = std::get<butterfly_action::Publish>(told[0]).announcement;
  CHECK(std::get<ShardResult>(published).inputs == average.inputs);
}

TEST_CASE("a peer that names another's gradient as its own does not keep it from anybody") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    RoundWorld world(3, seed, 8);
    world[0].serves = false;  // it has the lowest id, so it is asked first
    world.tamper = [&](Announcement& announcement) {
      auto* const contribution = std::get_if<Contribution>(&announcement);
      if (contribution == nullptr) return;
      auto const round = contribution->round;
      if (contribution->shards == world.shards_of(0, round))
        contribution->shards = world.shards_of(1, round);
    };
    world.start_all();
    CHECK(world.run(1h, [&] { return world[1].finished && world[2].finished; }));
    // It can split the two for a round, and they need two to come to one state again.
    for (std::size_t const i : {1, 2}) {
      std::size_t together = 0;
      for (auto const& apply : world[i].applied) {
        std::set<PeerId> counted;
        for (auto const& input : apply.mixed[0].inputs) counted.insert(input.peer);
        together += counted.contains(world.id(1)) && counted.contains(world.id(2)) ? 1 : 0;
      }
      CHECK(together + 3 >= world[i].applied.size());
      CHECK(together >= 4);
    }
  }
}

TEST_CASE("one who claims to be far ahead and gives nobody its state stops nobody") {
  for (auto const others : {1U, 2U}) {
    CAPTURE(others);
    RoundWorld world(others, 5, 12);
    auto const liar = world.add();
    world[liar].serves = false;
    world[liar].claims = Version{1'000'000, sha256(as_bytes("nothing"))};
    world.start_all();
    CHECK(world.run(1h, [&] {
      for (std::size_t i = 0; i < others; ++i)
        if (!world[i].finished) return false;
      return true;
    }));
    CHECK_FALSE(world[0].syncs.empty());
  }
}

TEST_CASE("however many sign, a round's books stay within what a message holds") {
  RoundSettings settings;
  settings.self = peer_number(1);
  settings.wait_min = 2s;
  settings.wait_max = 60s;
  settings.beacon_ttl = 10s;
  Round round(settings);
  auto const crowd = 3 * limits::round_peers_max;
  auto const member = [](std::size_t n) {
    std::array<std::uint8_t, 32> key{};
    key[0] = static_cast<std::uint8_t>(n);
    key[1] = static_cast<std::uint8_t>(n >> 8U);
    key[31] = 2;
    return PeerId::from_ed25519(key);
  };
  Instant now{};
  (void)round.on(round_event::Start{}, now);
  (void)round.on(round_event::InnerDone{1, 1s}, now += 3s);
  Contribution mine;
  mine.tokens = 1;
  mine.shards = {blob_named("mine")};
  Beacon beacon;
  beacon.sequence = 1;
  beacon.state = PeerState::mixing;
  // Everybody is a member, and half of them name this peer's own gradient, which needs no pulling.
  for (std::size_t n = 0; n < crowd; ++n) {
    (void)round.on(round_event::BeaconSeen{member(n), beacon}, now);
    if (n % 2 == 0) (void)round.on(round_event::ContributionSeen{member(n), mine}, now);
  }
  std::optional<round_action::Apply> applied;
  std::vector<RoundAction> actions = round.on(round_event::Prepared{mine}, now);
  for (int i = 0; i < 1000 && !applied; ++i) {
    std::vector<RoundAction> next;
    for (auto const& action : actions) {
      if (auto const* average = std::get_if<round_action::Average>(&action)) {
        CHECK(average->inputs.size() > 1);
        CHECK(average->inputs.size() <= limits::round_peers_max);
        next =
            round.on(round_event::Averaged{MixLane::gradients, 0, 0, blob_named("mean"), ""}, now);
      }
      if (auto const* apply = std::get_if<round_action::Apply>(&action)) applied = *apply;
    }
    actions = next.empty() ? round.on(round_event::Tick{}, now += 250ms) : next;
  }
  REQUIRE(applied.has_value());
  CHECK(applied->mixed[0].inputs.size() + applied->mixed[0].missing.size() ==
        limits::round_peers_max);
}

TEST_CASE("a late peer trains with weight zero first, then counts") {
  RoundWorld world(3, 7, 30);
  auto const late = world.add();
  for (std::size_t i = 0; i < 3; ++i) world.start(i);
  world.later(3s, [&] { world.start(late, Version{world[0].round->version()}, true); });
  CHECK(world.run(1h, [&] { return world.all_finished() && world.versions().size() == 1; }));
  auto const& last = world[0].applied.back().mixed[0];
  CHECK(last.inputs.size() == 4);
}

TEST_CASE("a peer far behind pulls the newer state instead of the rounds between") {
  RoundWorld world(3, 9, 30);
  auto const behind = world.add();
  for (std::size_t i = 0; i < 3; ++i) world.start(i);
  world.later(5s, [&] { world.start(behind); });  // believes in round 0
  CHECK(world.run(1h, [&] { return world.all_finished() && world.versions().size() == 1; }));
  CHECK_FALSE(world[behind].syncs.empty());
}

TEST_CASE("a peer three times slower takes fewer steps and still counts") {
  RoundWorld world(4, 11, 20);
  world[3].step_time = 30ms;
  world.start_all();
  CHECK(world.run(1h, [&] { return world.all_finished(); }));
  std::size_t counted = 0;
  for (auto const& apply : world[0].applied)
    for (auto const& input : apply.mixed[0].inputs) counted += input.peer == world.id(3) ? 1 : 0;
  CHECK(counted >= 5);
}

TEST_CASE("two halves that trained apart come to one state when they meet again") {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    CAPTURE(seed);
    RoundWorld world(6, seed, 80);
    bool apart = false;
    world.connected = [&](std::size_t a, std::size_t b) { return !apart || (a < 4) == (b < 4); };
    world.start_all();
    world.later(2s, [&] { apart = true; });
    world.later(25s, [&] { apart = false; });
    CHECK(world.run(1h, [&] { return world.all_finished() && world.versions().size() == 1; }));
  }
}

TEST_CASE("a reducer that invents an input or a weight is not believed") {
  RoundWorld world(4, 5, 6);
  world.tamper = [](Announcement& announcement) {
    if (auto* result = std::get_if<ShardResult>(&announcement)) {
      if (result->shard == 0) result->inputs.front().tokens += 1'000'000;
      if (result->shard == 1) result->inputs.front().root = sha256(as_bytes("invented"));
    }
  };
  world.start_all();
  CHECK(world.run(1h, [&] { return world.all_finished(); }));
  // Nobody takes the tampered shards from another: each is its own successor for them.
  for (auto const& apply : world[0].applied)
    for (auto const& input : apply.mixed[0].inputs) CHECK(input.tokens <= 20);
}

TEST_CASE("a pull that ends after another was asked for changes nothing") {
  Round round(settings_of_one());
  auto const version = [](std::uint64_t number, char const* name) {
    return Version{number, sha256(as_bytes(std::string_view(name)))};
  };
  Instant now{};
  std::vector<round_action::Sync> asked;
  auto const feed = [&](RoundEvent const& event) {
    for (auto const& action : round.on(event, now))
      if (auto const* sync = std::get_if<round_action::Sync>(&action)) asked.push_back(*sync);
  };
  auto const others_are_at = [&](Version const& at) {
    Beacon beacon;
    beacon.sequence = at.round;
    beacon.state = PeerState::training;
    beacon.round = at.round;
    beacon.state_hash = at.state;
    for (std::uint8_t peer : {2, 3}) feed(round_event::BeaconSeen{peer_number(peer), beacon});
  };
  feed(round_event::Start{version(3, "ours"), false});
  others_are_at(version(3, "theirs"));
  now += 3s;
  feed(round_event::Tick{});
  others_are_at(version(5, "newer"));
  REQUIRE(asked.size() == 2);
  CHECK(asked[0].background);
  CHECK(asked[0].version == version(3, "theirs"));
  CHECK_FALSE(asked[1].background);
  CHECK(asked[1].version == version(5, "newer"));
  CHECK_FALSE(round.awaits(asked[0].version));
  CHECK(round.awaits(asked[1].version));
  for (RoundEvent const& late :
       {RoundEvent(round_event::Synced{asked[0].version}),
        RoundEvent(round_event::SyncFailed{asked[0].version, "no holder"})}) {
    feed(late);
    CHECK(round.version() == version(3, "ours"));
    CHECK(round.phase() == RoundPhase::syncing);
    CHECK(asked.size() == 2);
  }
  feed(round_event::Synced{asked[1].version});
  CHECK(round.version() == version(5, "newer"));
  CHECK(round.phase() == RoundPhase::training);
}

TEST_CASE("a peer that is ahead of most others waits for them, and not for a few, nor for ever") {
  auto const settings = settings_of_one();
  struct Others {
    std::uint8_t here;
    std::uint8_t behind;
    PeerState state;
    Duration waited_for;
  };
  for (auto const& others :
       {Others{1, 1, PeerState::mixing, 0s}, Others{1, 1, PeerState::syncing, 0s},
        Others{0, 1, PeerState::mixing, settings.wait_min},
        Others{0, 1, PeerState::syncing, settings.wait_min},
        Others{0, 3, PeerState::syncing, settings.wait_min}, Others{0, 1, PeerState::paused, 0s},
        Others{0, 3, PeerState::mixing, settings.wait_max}})
    for (bool const they_come : {true, false}) {
      CAPTURE(others.here);
      CAPTURE(others.behind);
      CAPTURE(static_cast<int>(others.state));
      CAPTURE(they_come);
      Round round(settings);
      Instant now{};
      std::size_t prepared = 0;
      auto const feed = [&](RoundEvent const& event) {
        for (auto const& action : round.on(event, now))
          prepared += std::holds_alternative<round_action::Prepare>(action) ? 1 : 0;
      };
      Version const ours{7, sha256(as_bytes("ours"))};
      Beacon beacon;
      auto const tell = [&](Version const& of_those_behind) {
        ++beacon.sequence;
        for (std::uint8_t i = 0; i < others.here + others.behind; ++i) {
          auto const& version = i < others.here ? ours : of_those_behind;
          beacon.round = version.round;
          beacon.state_hash = version.state;
          beacon.state = i < others.here ? PeerState::training : others.state;
          feed(round_event::BeaconSeen{peer_number(static_cast<std::uint8_t>(2 + i)), beacon});
        }
      };
      Version const theirs{4, sha256(as_bytes("theirs"))};
      tell(theirs);
      feed(round_event::Start{ours, false});
      now += 10s;
      tell(theirs);
      feed(round_event::InnerDone{20, 10s});
      Instant const until = now + others.waited_for;
      while (now + 1s < until) {
        CHECK(prepared == 0);
        now += 1s;
        tell(theirs);
      }
      if (now < until && they_come) {
        CHECK(prepared == 0);
        tell(ours);
      }
      now = std::max(now, until);
      tell(theirs);
      CHECK(prepared == 1);
    }
}

TEST_CASE("a run without an end ends at the last round that there can be") {
  for (std::uint64_t const before : {1, 0}) {
    Round round(settings_of_one());
    Version const version{limits::rounds_max - before, blob_named("far").root};
    auto const actions = round.on(round_event::Start{version, false}, Instant{});
    bool const finished = std::holds_alternative<round_action::Finished>(actions.back());
    CHECK(finished == (before == 0));
    CHECK(round.phase() == (before == 0 ? RoundPhase::finished : RoundPhase::training));
  }
}

TEST_CASE("whatever happens, survivors finish and agree") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    std::size_t const count = 2 + seed % 6;
    RoundWorld world(count, seed, 15);
    SeededRandom random(seed);
    std::set<std::pair<std::size_t, std::size_t>> cut;
    world.connected = [&](std::size_t a, std::size_t b) {
      return !cut.contains({std::min(a, b), std::max(a, b)});
    };
    world.start_all();
    for (int i = 0; i < 3; ++i) {
      auto const a = random.below(count), b = random.below(count);
      auto const when = Duration(random.below(5'000'000'000));
      world.later(when, [&, a, b] { cut.insert({std::min(a, b), std::max(a, b)}); });
      world.later(when + 3s, [&, a, b] { cut.erase({std::min(a, b), std::max(a, b)}); });
    }
    auto const victim = random.below(count);
    if (count > 2)
      world.later(Duration(random.below(8'000'000'000)), [&, victim] { world.kill(victim); });
    CHECK(world.run(2h, [&] { return world.all_finished() && world.versions().size() == 1; }));
  }
}
