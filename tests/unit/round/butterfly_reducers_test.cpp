// Who averages which shard.
#include "grapevine/round/butterfly.hpp"

#include "unit/round/round_world.hpp"

#include <doctest/doctest.h>

using namespace grapevine;
using grapevine::test::blob_named;
using grapevine::test::peer_number;
using grapevine::test::RoundWorld;

TEST_CASE("shards are spread evenly, and whoever knows the same peers knows who has which") {
  Hash const run = sha256(as_bytes("run"));
  for (std::uint8_t count = 1; count <= 20; ++count) {
    std::vector<PeerId> peers;
    for (std::uint8_t n = 1; n <= count; ++n) peers.push_back(peer_number(n));
    auto const orders = Butterfly::reducers(run, 3, limits::shards_max, peers);
    REQUIRE(orders.size() == limits::shards_max);
    std::map<PeerId, std::size_t> load;
    for (auto const& peer : peers) load[peer] = 0;
    for (auto const& order : orders) {
      ++load[order.front()];
      CHECK(std::set(order.begin(), order.end()) == std::set(peers.begin(), peers.end()));
      CHECK(order.size() == peers.size());
    }
    for (auto const& [peer, shards] : load) {
      CHECK(shards >= limits::shards_max / count);
      CHECK(shards <= (limits::shards_max + count - 1) / count);
    }
    std::ranges::reverse(peers);
    CHECK(Butterfly::reducers(run, 3, limits::shards_max, peers) == orders);
  }
}

TEST_CASE("a peer that leaves moves few shards that are not its own") {
  constexpr std::uint64_t rounds = 100;
  std::vector<PeerId> peers;
  for (std::uint8_t n = 1; n <= 8; ++n) peers.push_back(peer_number(n));
  auto const fewer = std::vector(peers.begin() + 1, peers.end());
  Hash const run = sha256(as_bytes("run"));
  std::size_t moved = 0;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    auto const before = Butterfly::reducers(run, round, 8, peers);
    auto const after = Butterfly::reducers(run, round, 8, fewer);
    for (std::size_t i = 0; i < 8; ++i) {
      if (before[i].front() == peers[0]) continue;
      if (before[i].front() != after[i].front()) ++moved;
    }
  }
  // One moves the next until the end of the list: 1.7 on average, of the seven.
  CHECK(moved < 2.2 * rounds);
  CHECK(moved > 0);
}

namespace {

// A butterfly of three shards and three peers, of which each averages one; what it pulls.
struct OneOfThree {
  explicit OneOfThree(bool overlapped, std::uint64_t in_round)
      : round(in_round), butterfly(settings_of(overlapped), view) {
    (void)butterfly.on(butterfly_event::Began{{round, {}}}, now);
    (void)butterfly.on(butterfly_event::Contributed{contribution("ours")}, now);
    (void)butterfly.on(butterfly_event::Collect{9s}, now);
  }
  static ButterflySettings settings_of(bool overlapped) {
    ButterflySettings settings;
    settings.self = peer_number(1);
    settings.overlapped = overlapped;
    settings.one_state = !overlapped;
    settings.shards = 3;
    settings.wait_min = 2s;
    settings.wait_max = 60s;
    return settings;
  }
  [[nodiscard]] Contribution contribution(std::string const& name) const {
    Contribution made;
    made.round = round;
    made.tokens = 10;
    for (auto const* const shard : {" a", " b", " c"})
      made.shards.push_back(blob_named(name + shard));
    return made;
  }
  void others_are_in(std::uint64_t where) {
    Beacon beacon;
    beacon.sequence = ++beacons;
    beacon.state = PeerState::mixing;
    beacon.round = where;
    for (std::uint8_t const n : {2, 3}) REQUIRE(view.saw(peer_number(n), beacon, now));
  }
  void hear_from(std::uint8_t n) {
    auto const theirs = contribution("of " + std::to_string(n));
    (void)butterfly.on(butterfly_event::ContributionSeen{peer_number(n), theirs}, now);
  }
  std::size_t fetches() {
    auto const actions = butterfly.on(butterfly_event::Tick{}, now);
    return static_cast<std::size_t>(std::ranges::count_if(actions, [](auto const& action) {
      return std::holds_alternative<butterfly_action::Fetch>(action);
    }));
  }

  std::uint64_t round;
  std::uint64_t beacons = 0;
  Instant now{};
  SwarmView view{1h};
  Butterfly butterfly;
};

}  // namespace

TEST_CASE("the shards of those who are done with a round are not averaged again") {
  OneOfThree one(false, 0);
  one.others_are_in(0);
  one.hear_from(2);
  one.hear_from(3);
  CHECK(one.fetches() == 2);  // both inputs of its one shard
  one.others_are_in(1);
  CHECK(one.fetches() == 0);
}

TEST_CASE(
    "who was left out by the one that averages stays outside at once, and at nobody else's word") {
  std::vector<PeerId> const peers{peer_number(1), peer_number(2), peer_number(3)};
  auto const order = Butterfly::reducers({}, 0, 1, peers).front();
  ButterflySettings settings;
  settings.self = order[2];
  settings.one_state = false;
  settings.wait_min = 2s;
  settings.wait_max = 60s;
  SwarmView view(10s);
  Beacon beacon;
  beacon.sequence = 1;
  beacon.state = PeerState::mixing;
  for (std::size_t i = 0; i < 2; ++i) view.saw(order[i], beacon, Instant{});
  auto const contribution = [](PeerId const& peer) {
    Contribution made;
    made.tokens = 1;
    made.shards = {blob_named(peer.text())};
    return made;
  };
  auto const closed_by = [&](PeerId const& reducer, std::uint8_t strangers) {
    Butterfly butterfly(settings, view);
    (void)butterfly.on(butterfly_event::Began{}, Instant{});
    for (std::size_t i = 0; i < 2; ++i)
      (void)butterfly.on(butterfly_event::ContributionSeen{order[i], contribution(order[i])},
                         Instant{});
    (void)butterfly.on(butterfly_event::Contributed{contribution(settings.self)}, Instant{});
    (void)butterfly.on(butterfly_event::Collect{}, Instant{});
    ShardResult result;
    for (std::size_t i = 0; i < 2; ++i)
      result.inputs.push_back({order[i], contribution(order[i]).shards[0].root, 1});
    std::ranges::sort(result.inputs, {}, &ShardResult::Input::peer);
    result.result = blob_named("mean");
    for (std::uint8_t n = 0; n < strangers; ++n)
      (void)butterfly.on(
          butterfly_event::ResultSeen{peer_number(static_cast<std::uint8_t>(100 + n)), result},
          Instant{});
    (void)butterfly.on(butterfly_event::ResultSeen{reducer, result}, Instant{});
    auto const actions = butterfly.on(butterfly_event::Tick{}, Instant{} + 100ms);
    auto const* const closed =
        actions.empty() ? nullptr : std::get_if<butterfly_action::Closed>(&actions.back());
    if (closed != nullptr) CHECK_FALSE(closed->results.at(0).has_value());
    return closed != nullptr;
  };
  CHECK(closed_by(order[0], 0));
  CHECK(closed_by(order[0], 100));  // who announce for the sake of it crowd out nobody's turn
  CHECK_FALSE(closed_by(order[1], 0));
}

TEST_CASE("overlapped, a peer averages its own shards from the first contribution on") {
  OneOfThree one(true, 1);
  one.others_are_in(0);  // no beacon of this round has come yet
  one.hear_from(2);
  CHECK(one.fetches() == 1);
  one.others_are_in(1);
  one.hear_from(3);
  CHECK(one.fetches() == 1);
}
