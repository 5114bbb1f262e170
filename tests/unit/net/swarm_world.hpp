// Hosts with gossip and blobs on machines of the simulated world, joined as the test says.
#pragma once

#include "grapevine/net/blob_exchange.hpp"
#include "grapevine/net/pubsub.hpp"
#include "grapevine/sim/world.hpp"

#include <doctest/doctest.h>

#include <map>
#include <optional>
#include <set>

namespace grapevine::testing {

class SwarmNode final : public sim::Program {
 public:
  explicit SwarmNode(Doors doors, BlobExchange::Options blob_options = {})
      : host(doors, Identity::generate(doors.random), options()),
        gossip(doors, host, {.seqno_first = doors.clock.unix_ns()}),
        blobs(doors, host, blob_options) {}
  Awaitable<> run() override {
    auto const started = host.start();
    REQUIRE(started.has_value());
    gossip.start();
    blobs.start();
    co_return;
  }
  Awaitable<> stop() {
    co_await gossip.stop();
    co_await blobs.stop();
    co_await host.stop();
    stopped = true;
  }

  Host host;
  PubSub gossip;
  BlobExchange blobs;
  bool stopped = false;

 private:
  static HostOptions options() {
    HostOptions out;
    out.listen.push_back(Multiaddr::parse("/ip4/0.0.0.0/tcp/4001").value());
    return out;
  }
};

class SwarmWorld {
 public:
  explicit SwarmWorld(std::size_t count, std::uint64_t seed = 1,
                      std::map<std::size_t, BlobExchange::Options> blob_options = {})
      : world(options(seed)), count_(count) {
    for (std::size_t i = 0; i < count; ++i) {
      auto const with = blob_options[i];
      world.add_node([with](Doors doors) { return std::make_unique<SwarmNode>(doors, with); });
    }
    world.run_for(std::chrono::seconds(1));
  }
  ~SwarmWorld() {
    for (std::size_t i = 0; i < size(); ++i)
      if (world.running(i)) world.spawn(i, node(i).stop());
    world.run_for(std::chrono::minutes(2), [this] { return all_stopped(); });
    CHECK(all_stopped());
  }

  SwarmNode& node(std::size_t i) { return dynamic_cast<SwarmNode&>(world.program(i)); }
  PeerId id(std::size_t i) { return node(i).host.id(); }
  [[nodiscard]] std::size_t size() const { return count_; }
  void connect(std::size_t from, std::size_t to) {
    world.spawn(from, dial(node(from).host, address(to)));
    auto& host = node(from).host;
    auto const peer = id(to);
    REQUIRE(world.run_for(std::chrono::seconds(20), [&] { return host.connected(peer); }));
  }
  void connect_all() {
    for (std::size_t i = 0; i < size(); ++i)
      for (std::size_t j = 0; j < i; ++j) connect(i, j);
  }

  // Runs `work` on node i until it ends, and returns what it gave.
  template <class T>
  T run(std::size_t i, Awaitable<T> work, Duration limit = std::chrono::minutes(10)) {
    std::optional<T> out;
    world.spawn(i, store(std::move(work), out));
    REQUIRE(world.run_for(limit, [&] { return out.has_value(); }));
    return std::move(*out);
  }

  sim::World world;

 private:
  static sim::WorldOptions options(std::uint64_t seed) {
    sim::WorldOptions out;
    out.seed = seed;
    return out;
  }
  static Multiaddr address(std::size_t i) {
    return Multiaddr::tcp_address({sim::World::address(i), 4001});
  }
  static Awaitable<> dial(Host& host, Multiaddr to) {
    auto const dialled = co_await host.dial(to);
    CHECK(dialled.has_value());
  }
  template <class T>
  static Awaitable<> store(Awaitable<T> work, std::optional<T>& out) {
    out.emplace(co_await std::move(work));
  }
  bool all_stopped() {
    for (std::size_t i = 0; i < size(); ++i)
      if (world.running(i) && !node(i).stopped) return false;
    return true;
  }
  std::size_t count_;
};

}  // namespace grapevine::testing
