#include "grapevine/round/swarm_view.hpp"

#include "grapevine/base/limits.hpp"
#include "unit/round/round_world.hpp"

#include <doctest/doctest.h>

#include <array>

using namespace grapevine;
using grapevine::test::peer_number;
using grapevine::test::RoundWorld;

TEST_CASE("a liar who claims a far round moves nobody") {
  SwarmView view(10s);
  Beacon honest;
  honest.sequence = 1;
  honest.round = 5;
  honest.state_hash = sha256(as_bytes("state"));
  honest.state = PeerState::training;
  for (std::uint8_t n = 1; n <= 3; ++n) view.saw(peer_number(n), honest, Instant{});
  Beacon liar = honest;
  liar.round = 1'000'000'000;
  view.saw(peer_number(9), liar, Instant{});
  CHECK_FALSE(view.ahead(5).has_value());
  CHECK(view.newest()->round == 5);
  CHECK_FALSE(view.saw(peer_number(9), liar, Instant{}));  // the same sequence again
}

TEST_CASE("the beacons of one author are taken at a bounded rate") {
  SwarmView view(1h);
  Beacon beacon;
  Instant now{};
  auto taken_of = [&](int count) {
    int taken = 0;
    for (int i = 0; i < count; ++i) {
      ++beacon.sequence;
      bool const takes = view.takes(peer_number(1), beacon, now);
      CHECK(view.saw(peer_number(1), beacon, now) == takes);
      taken += takes ? 1 : 0;
    }
    return taken;
  };
  CHECK(taken_of(1000) == static_cast<int>(limits::beacons_per_author_burst));
  ++beacon.round;  // is news, whatever came before
  CHECK(taken_of(1000) == 1);
  CHECK(view.saw(peer_number(2), beacon, now));  // others are not held up
  now += 1s;
  CHECK(taken_of(1000) == static_cast<int>(limits::beacons_per_author_per_s));
  now += 1h;
  CHECK(taken_of(1000) == static_cast<int>(limits::beacons_per_author_burst));
  CHECK(view.find(peer_number(1))->seen == now);
}

TEST_CASE("strangers push out strangers, not the peers with whom a round was mixed") {
  auto stranger = [](std::size_t n) {
    std::array<std::uint8_t, 32> key{};
    key[0] = static_cast<std::uint8_t>(n);
    key[1] = static_cast<std::uint8_t>(n >> 8);
    key[31] = 2;
    return PeerId::from_ed25519(key);
  };
  SwarmView view(1h);
  Beacon beacon;
  beacon.sequence = 1;
  Instant now{};
  for (std::uint8_t n = 1; n <= 3; ++n) view.saw(peer_number(n), beacon, now);
  view.mixed_with(peer_number(1));
  view.mixed_with(peer_number(3));
  for (std::size_t n = 0; n < 2 * limits::round_peers_max; ++n) {
    now += 1s;
    CHECK(view.saw(stranger(n), beacon, now));
    CHECK(view.peers().size() <= limits::round_peers_max);
  }
  CHECK(view.find(peer_number(1)) != nullptr);
  CHECK(view.find(peer_number(2)) == nullptr);
  CHECK(view.find(peer_number(3)) != nullptr);
  for (auto const& [peer, seen] : std::map(view.peers())) view.mixed_with(peer);
  CHECK_FALSE(view.saw(stranger(0), beacon, now));  // no room is left for it
  CHECK(view.peers().size() == limits::round_peers_max);
}

TEST_CASE("whose contribution was mixed keeps its place") {
  RoundWorld world(2, 1, 3);
  world.start_all();
  CHECK(world.run(1h, [&] { return world.all_finished(); }));
  CHECK(world[0].round->view().find(world.id(1))->mixed);
}
