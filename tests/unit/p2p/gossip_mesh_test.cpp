#include "unit/p2p/gossip_world.hpp"

#include <rapidcheck.h>

using namespace grapevine;
using namespace grapevine::testing;
using namespace std::chrono_literals;

namespace {

constexpr auto topic = "grapevine/test/announce";

void subscribe_all(GossipWorld& world) {
  for (std::size_t i = 0; i < world.size(); ++i) world.subscribe(i, topic);
}

void line(GossipWorld& world) {
  for (std::size_t i = 1; i < world.size(); ++i) world.link(i - 1, i);
}
void ring(GossipWorld& world) {
  line(world);
  world.link(world.size() - 1, 0);
}
void star(GossipWorld& world) {
  for (std::size_t i = 1; i < world.size(); ++i) world.link(i, 0);
}
void random_graph(GossipWorld& world, std::uint64_t seed) {
  SeededRandom random(seed);
  line(world);
  for (std::size_t i = 0; i < world.size(); ++i)
    for (int k = 0; k < 4; ++k) world.link(i, random.below(world.size()));
}

// Everyone publishes; each message reaches each other node, once.
void check_each_gets_all_once(GossipWorld& world, std::size_t bytes) {
  subscribe_all(world);
  world.run(5s);
  std::vector<std::uint64_t> seqnos;
  for (std::size_t i = 0; i < world.size(); ++i)
    seqnos.push_back(world.publish(i, topic, Bytes(bytes, static_cast<std::uint8_t>(i))));
  world.run(10s);
  for (std::size_t author = 0; author < world.size(); ++author)
    for (std::size_t reader = 0; reader < world.size(); ++reader) {
      CAPTURE(author);
      CAPTURE(reader);
      CHECK(world.times(reader, author, seqnos[author]) == (author == reader ? 0 : 1));
    }
}

}  // namespace

TEST_CASE("each message reaches each subscriber exactly once, whatever the graph") {
  for (std::size_t const count : {2, 3, 7, 20}) {
    CAPTURE(count);
    for (auto* shape : {line, ring, star}) {
      GossipWorld world(count, count);
      shape(world);
      check_each_gets_all_once(world, 100);
    }
  }
  GossipWorld world(40, 1);
  random_graph(world, 2);
  check_each_gets_all_once(world, 2000);  // large enough for IDONTWANT
}

TEST_CASE("without flood publishing messages arrive as well") {
  GossipParameters parameters;
  parameters.flood_publish = false;
  GossipWorld world(20, 3, parameters);
  random_graph(world, 4);
  check_each_gets_all_once(world, 10);
}

TEST_CASE("IDONTWANT saves copies of large messages") {
  auto const duplicates_of = [](std::size_t bytes, GossipParameters parameters) {
    GossipWorld world(20, 5, parameters);
    random_graph(world, 6);
    subscribe_all(world);
    world.run(5s);
    for (int i = 0; i < 20; ++i) world.publish(0, topic, Bytes(bytes));
    world.run(5s);
    std::uint64_t duplicates = 0;
    for (std::size_t i = 0; i < world.size(); ++i)
      duplicates += world.router(i).counters().duplicates;
    return duplicates;
  };
  GossipParameters without;
  without.idontwant_bytes = 1 << 20;
  CHECK(duplicates_of(2000, {}) < duplicates_of(2000, without));
}

TEST_CASE("a publisher outside the topic reaches it through its fanout") {
  GossipParameters parameters;
  parameters.flood_publish = false;
  GossipWorld world(10, 7, parameters);
  random_graph(world, 8);
  for (std::size_t i = 1; i < world.size(); ++i) world.subscribe(i, topic);
  world.run(5s);
  auto const seqno = world.publish(0, topic, Bytes{1});
  world.run(5s);
  for (std::size_t i = 1; i < world.size(); ++i) CHECK(world.times(i, 0, seqno) == 1);
  CHECK(world.router(0).mesh(topic).empty());
}

TEST_CASE("who joins late asks for the last messages") {
  // Twelve in a clique: their meshes are full enough not to take the newcomer in at once.
  GossipWorld world(12, 9);
  for (std::size_t i = 0; i < 12; ++i)
    for (std::size_t j = 0; j < i; ++j) world.link(i, j);
  subscribe_all(world);
  world.run(3s);
  auto const old = world.publish(0, topic, Bytes{1});
  world.run(10s);
  auto const fresh = world.publish(0, topic, Bytes{2});
  world.run(100ms);
  auto const late = world.add();
  for (std::size_t i = 0; i < 12; ++i) world.link(late, i);
  world.subscribe(late, topic);
  world.run(4s);
  CHECK(world.times(late, 0, fresh) == 1);
  CHECK(world.times(late, 0, old) == 0);
}

TEST_CASE("a peer that pruned us still tells us what it has") {
  // A star of 20 around node 0: its mesh holds at most 12, the others live on IHAVE and IWANT.
  GossipParameters parameters;
  parameters.flood_publish = false;
  GossipWorld world(21, 10, parameters);
  star(world);
  subscribe_all(world);
  world.run(5s);
  CHECK(world.router(0).mesh(topic).size() <= 12);
  auto const seqno = world.publish(0, topic, Bytes{1});
  world.run(60ms);
  std::size_t early = 0;
  for (std::size_t i = 1; i < world.size(); ++i) early += world.times(i, 0, seqno);
  CHECK(early <= 12);
  world.run(6s);
  for (std::size_t i = 1; i < world.size(); ++i) CHECK(world.times(i, 0, seqno) == 1);
}

TEST_CASE("the death of peers heals") {
  GossipWorld world(20, 11);
  random_graph(world, 12);
  for (std::size_t i = 0; i < 10; ++i) world.link(i, 19 - i);
  subscribe_all(world);
  world.run(5s);
  for (std::size_t dead : {3, 7, 11}) world.kill(dead);
  world.link(2, 4);  // the line underneath was cut: keep the rest in one piece
  world.link(6, 8);
  world.link(10, 12);
  world.run(5s);
  auto const seqno = world.publish(0, topic, Bytes{1});
  world.run(6s);
  for (std::size_t i = 1; i < world.size(); ++i)
    CHECK(world.times(i, 0, seqno) == (i == 3 || i == 7 || i == 11 ? 0 : 1));
}

TEST_CASE("leaving a topic ends it and rejoining works") {
  GossipWorld world(5, 13);
  ring(world);
  subscribe_all(world);
  world.run(3s);
  world.unsubscribe(0, topic);
  world.run(1s);
  CHECK(world.router(0).mesh(topic).empty());
  CHECK_FALSE(world.router(1).mesh(topic).contains(world.id(0)));
  CHECK(world.router(1).topic_peers(topic) == std::vector{world.id(2)});
  auto const missed = world.publish(2, topic, Bytes{1});
  world.run(1s);
  CHECK(world.times(0, 2, missed) == 0);
  world.subscribe(0, topic);
  world.run(15s);
  CHECK(world.router(0).mesh(topic).size() == 2);
  auto const seqno = world.publish(2, topic, Bytes{2});
  world.run(3s);
  CHECK(world.times(0, 2, seqno) == 1);
}

TEST_CASE("a mesh stays within its bounds after any history") {
  CHECK(rc::check("bounds", [] {
    auto const count = *rc::gen::inRange<std::size_t>(2, 24);
    GossipWorld world(count, *rc::gen::arbitrary<std::uint64_t>());
    auto const steps = *rc::gen::container<std::vector<std::tuple<int, std::size_t, std::size_t>>>(
        rc::gen::tuple(rc::gen::inRange(0, 6), rc::gen::inRange<std::size_t>(0, count),
                       rc::gen::inRange<std::size_t>(0, count)));
    for (auto const& [what, a, b] : steps) {
      if (what <= 1) world.link(a, b);
      if (what == 2) world.unlink(a, b);
      if (what == 3) world.subscribe(a, topic);
      if (what == 4) world.unsubscribe(a, topic);
      if (what == 5) world.run(std::chrono::milliseconds(1 + 97 * b));
    }
    world.run(150s);  // every back-off ends
    GossipParameters const p;
    for (std::size_t i = 0; i < count; ++i) {
      auto const mesh = world.router(i).mesh(topic);
      RC_ASSERT(mesh.size() <= p.mesh_high);
      for (std::size_t j = 0; j < count; ++j)  // who is in my mesh has me in its
        RC_ASSERT(mesh.contains(world.id(j)) == world.router(j).mesh(topic).contains(world.id(i)));
    }
    for (std::size_t i = 0; i < count; ++i) {
      auto const mesh = world.router(i).mesh(topic);
      std::size_t full = 0, willing = 0;
      for (auto const& peer : world.router(i).topic_peers(topic)) {
        ++willing;
        for (std::size_t j = 0; j < count; ++j)
          if (world.id(j) == peer && world.router(j).mesh(topic).size() >= p.mesh_high) ++full;
      }
      auto const member = !mesh.empty() || willing == 0;
      RC_ASSERT(!member || mesh.size() + full >= std::min(p.mesh_low, willing));
    }
  }));
}

TEST_CASE("no frame is larger than what every implementation takes") {
  GossipWorld world(4, 14);
  ring(world);
  subscribe_all(world);
  world.run(3s);
  for (int i = 0; i < 600; ++i) world.publish(0, topic, Bytes(10));
  world.publish(0, topic, Bytes(50'000));
  world.run(5s);
  CHECK(world.largest_frame() <= limits::gossip_rpc_sent_max);
  CHECK_FALSE(
      world.router(0).publish(topic, Bytes(limits::gossip_rpc_sent_max), world.now()).has_value());
}
