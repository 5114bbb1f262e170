// Hosts in the simulated world: what takes minutes, bad links or silence.
#include "grapevine/base/limits.hpp"
#include "grapevine/net/host.hpp"
#include "grapevine/runtime/gate.hpp"
#include "grapevine/sim/world.hpp"

#include <doctest/doctest.h>

#include <deque>

using namespace grapevine;
using sim::World;

namespace {

constexpr std::uint16_t port = 4001;

Awaitable<> echo(PeerStream stream) {
  Bytes buffer(64 * 1024);
  while (true) {
    auto const got = co_await stream.stream->read_some(buffer);
    if (!got) break;
    auto const written = co_await stream.stream->write(ByteView(buffer).first(*got));
    if (!written) co_return;
  }
  (void)co_await stream.stream->close_write();
}

struct HostProgram final : sim::Program {
  Host host;
  Gate never;
  std::vector<Host::Event> events;

  static HostOptions options() {
    HostOptions made;
    made.listen.push_back(Multiaddr::parse("/ip4/0.0.0.0/tcp/4001").value());
    made.perf = true;
    return made;
  }
  explicit HostProgram(Doors doors) : host(doors, Identity::generate(doors.random), options()) {
    host.handle("/echo", echo);
    host.on_event([this](Host::Event const& event) { events.push_back(event); });
  }
  Awaitable<> run() override {
    REQUIRE(host.start().has_value());
    while (true) co_await never.wait();
  }
  [[nodiscard]] std::string disconnect_reason() const {
    for (auto const& event : events)
      if (event.kind == Host::Event::disconnected) return event.reason;
    return {};
  }
};

std::unique_ptr<sim::Program> make_host(Doors doors) {
  return std::make_unique<HostProgram>(doors);
}

struct HostsFixture {
  explicit HostsFixture(sim::WorldOptions options = {}) : world(std::move(options)) {
    for (int i = 0; i < 2; ++i) world.add_node(make_host);
    world.run_for(1ms);
  }
  World world;

  HostProgram& program(std::size_t node) { return static_cast<HostProgram&>(world.program(node)); }
  Host& host(std::size_t node) { return program(node).host; }
  Multiaddr address(std::size_t node) {
    return Multiaddr::tcp_address({World::address(node), port}).with_peer(host(node).id());
  }
  void meet() {
    Result<PeerId> found = fail(Errc::internal);
    bool done = false;
    world.spawn(0, dial(host(0), address(1), found, done));
    REQUIRE(world.run_for(20s, [&] { return done; }));
    REQUIRE(found.has_value());
    world.run_for(2s);  // identify
  }
  static Awaitable<> dial(Host& host, Multiaddr address, Result<PeerId>& found, bool& done) {
    found = co_await host.dial(address);
    done = true;
  }
};

sim::WorldOptions link(sim::LinkRules rules, std::size_t socket_buffer = 1024 * 1024) {
  sim::WorldOptions options;
  options.link = std::move(rules);
  options.socket_buffer = socket_buffer;
  return options;
}

Awaitable<> round_trip(Host& host, PeerId peer, std::size_t size, bool& done) {
  std::vector<std::string> const protocols(1, "/echo");
  auto stream = co_await host.open_stream(peer, protocols);
  REQUIRE(stream.has_value());
  Bytes const sent(size, 0x5a);
  Bytes got(size);
  REQUIRE((co_await stream->stream->write(sent)).has_value());
  REQUIRE((co_await read_exactly(*stream->stream, got)).has_value());
  CHECK(got == sent);
  done = true;
}

Awaitable<> upload(Host& host, PeerId peer, std::uint64_t bytes, double& seconds, bool& done) {
  auto const result = co_await host.perf(peer, bytes, 0);
  REQUIRE(result.has_value());
  seconds = result->upload_s;
  done = true;
}

// Connects, says nothing, and notes when it is thrown out.
Awaitable<> stay_silent(Doors doors, Endpoint at, std::optional<Instant>& ended) {
  auto socket = co_await doors.network.connect(at);
  REQUIRE(socket.has_value());
  Bytes buffer(100);
  while ((co_await (*socket)->read_some(buffer)).has_value()) {
  }
  ended = doors.clock.now();
}

}  // namespace

TEST_CASE_FIXTURE(HostsFixture,
                  "a peer that vanishes without a word is noticed within half a minute") {
  meet();
  world.partition({{0}, {1}});
  CHECK(world.run_for(31s, [&] { return !program(0).disconnect_reason().empty(); }));
  CHECK(program(0).disconnect_reason() == "no answer to a ping");
  CHECK(world.run_for(31s, [&] { return !host(1).connected(host(0).id()); }));
}

TEST_CASE_FIXTURE(HostsFixture, "an idle connection stays up, and its round trip is known") {
  meet();
  world.run_for(10min);
  CHECK(program(0).disconnect_reason().empty());
  REQUIRE(host(0).connections().size() == 1);
  CHECK(host(0).connections().front().rtt_ms == doctest::Approx(10).epsilon(0.05));
}

TEST_CASE_FIXTURE(HostsFixture, "a crash is noticed at once, and the peer can come back") {
  meet();
  auto const old = host(1).id();
  world.crash(1);
  CHECK(world.run_for(1s, [&] { return !host(0).connected(old); }));
  world.restart(1);
  world.run_for(1s);
  meet();
  CHECK(host(0).connected(host(1).id()));
}

TEST_CASE("every byte alone on the wire still makes a connection") {
  HostsFixture hosts(link({sim::rules::delay(1ms), sim::rules::pieces(1)}));
  hosts.meet();
  bool done = false;
  hosts.world.spawn(0, round_trip(hosts.host(0), hosts.host(1).id(), 3000, done));
  CHECK(hosts.world.run_for(60s, [&] { return done; }));
}

TEST_CASE("jitter and a narrow link only take time") {
  HostsFixture hosts(
      link({sim::rules::delay(20ms), sim::rules::jitter(30ms), sim::rules::rate(200'000)}));
  hosts.meet();
  bool done = false;
  double seconds = 0;
  hosts.world.spawn(0, upload(hosts.host(0), hosts.host(1).id(), 1 << 20, seconds, done));
  CHECK(hosts.world.run_for(5min, [&] { return done; }));
  CHECK(seconds > 5);  // 200 kB/s
  CHECK(hosts.program(0).disconnect_reason().empty());
}

TEST_CASE("over a long link the window opens until the link is full") {
  HostsFixture hosts(link({sim::rules::delay(50ms)}, 64 * 1024 * 1024));
  hosts.meet();
  bool done = false;
  double seconds = 0;
  // At the initial window this takes 64 MiB / 256 KiB round trips: more than 25 s.
  hosts.world.spawn(0, upload(hosts.host(0), hosts.host(1).id(), 64 << 20, seconds, done));
  CHECK(hosts.world.run_for(60s, [&] { return done; }));
  CHECK(seconds < 5);
}

TEST_CASE_FIXTURE(HostsFixture, "a handshake that says nothing is ended by the deadline") {
  std::optional<Instant> ended;
  auto const begun = world.now();
  world.spawn(0, stay_silent(world.doors(0), {World::address(1), port}, ended));
  CHECK(world.run_for(20s, [&] { return ended.has_value(); }));
  CHECK(*ended - begun >= limits::upgrade_deadline);
  CHECK(*ended - begun < limits::upgrade_deadline + 100ms);
  CHECK(host(1).counters().handshakes == 0);
}

TEST_CASE("silent connections cannot keep others out") {
  std::deque<std::optional<Instant>> ended;  // outlives the world, whose tasks write to it
  HostsFixture hosts;
  auto& world = hosts.world;
  // From as many addresses: none has more than its share.
  for (std::size_t i = 0; i < limits::handshakes_inbound_max; ++i) {
    auto const node = world.add_node(make_host);
    world.spawn(node,
                stay_silent(world.doors(node), {World::address(1), port}, ended.emplace_back()));
  }
  world.run_for(2s);
  CHECK(hosts.host(1).counters().handshakes == limits::handshakes_inbound_max);
  hosts.meet();
  CHECK(hosts.host(0).connected(hosts.host(1).id()));
  CHECK(hosts.host(1).counters().inbound_refused == 1);
}

TEST_CASE_FIXTURE(HostsFixture, "both dial at once: two connections, one peer, streams work") {
  Result<PeerId> one = fail(Errc::internal), other = fail(Errc::internal);
  bool one_done = false, other_done = false;
  world.spawn(0, dial(host(0), address(1), one, one_done));
  world.spawn(1, dial(host(1), address(0), other, other_done));
  CHECK(world.run_for(10s, [&] { return one_done && other_done; }));
  CHECK(one.has_value());
  CHECK(other.has_value());
  world.run_for(3s);
  CHECK(host(0).peers().size() == 1);
  std::size_t connects = 0;
  for (auto const& event : program(0).events) connects += event.kind == Host::Event::connected;
  CHECK(connects == 1);
  bool done = false;
  world.spawn(1, round_trip(host(1), host(0).id(), 1000, done));
  CHECK(world.run_for(5s, [&] { return done; }));
}

TEST_CASE_FIXTURE(HostsFixture, "a dead address costs little when another one works") {
  auto const dead = world.add_node(make_host);
  world.set_links_between(0, dead, {sim::rules::hold()});
  auto const peer = host(1).id();
  host(0).remember(peer, {Multiaddr::tcp_address({World::address(dead), port}),
                          Multiaddr::tcp_address({World::address(1), port})});
  bool done = false;
  auto const begun = world.now();
  world.spawn(0, round_trip(host(0), peer, 10, done));
  CHECK(world.run_for(30s, [&] { return done; }));
  CHECK(world.now() - begun < 1s);
  CHECK(host(0).known_addresses(peer).front() == address(1).without_peer());
}

namespace {

Awaitable<> connect_to(Host& host, PeerId peer, std::vector<Result<PeerId>>& results) {
  results.push_back(co_await host.connect(peer));
}

}  // namespace

TEST_CASE_FIXTURE(HostsFixture, "a peer that refuses is not asked again at once") {
  auto const peer = host(1).id();
  host(0).remember(peer, {address(1)});
  world.crash(1);
  std::vector<Result<PeerId>> results;
  world.spawn(0, connect_to(host(0), peer, results));
  world.run_for(1s);
  world.spawn(0, connect_to(host(0), peer, results));
  world.run_for(limits::dial_backoff_min);
  world.spawn(0, connect_to(host(0), peer, results));
  world.run_for(1s);
  REQUIRE(results.size() == 3);
  CHECK(results[0].error().errc() == Errc::refused);
  CHECK(results[1].error().errc() == Errc::dial_failed);
  CHECK(results[2].error().errc() == Errc::refused);
}

TEST_CASE("one seed gives one history") {
  std::vector<std::uint64_t> hashes;
  for (std::uint64_t const seed : {7UL, 7UL, 8UL}) {
    auto options = link({sim::rules::delay(5ms), sim::rules::jitter(5ms)});
    options.seed = seed;
    HostsFixture hosts(options);
    hosts.meet();
    hosts.world.run_for(40s);
    hashes.push_back(hosts.world.trace().hash());
  }
  CHECK(hashes[0] == hashes[1]);
  CHECK(hashes[0] != hashes[2]);
}
