#include "grapevine/runtime/gate.hpp"
#include "grapevine/sim/world.hpp"

#include <doctest/doctest.h>

using namespace grapevine;
using namespace grapevine::sim;

namespace {

std::unique_ptr<Program> no_program(Doors) { return nullptr; }

struct Received {
  Bytes bytes;
  Errc ended = Errc::internal;
  Instant first{};
  Instant last{};
};

Awaitable<> receive(std::unique_ptr<Socket> socket, Clock& clock, Received& received) {
  Bytes chunk(100'000);
  for (;;) {
    auto const got = co_await socket->read_some(chunk);
    if (!got) {
      received.ended = got.error().errc();
      co_return;
    }
    if (received.bytes.empty()) received.first = clock.now();
    received.last = clock.now();
    append(received.bytes, ByteView(chunk).first(*got));
  }
}

Awaitable<> serve(Doors doors, Received& received) {
  auto listener = doors.network.listen({IpAddress::v4(0, 0, 0, 0), 4001}).value();
  auto socket = co_await listener->accept();
  co_await receive(std::move(*socket), doors.clock, received);
}

struct Sent {
  Errc connected = Errc::internal;
  Errc written = Errc::internal;
  Instant connected_at{};
  Instant done_at{};
  std::unique_ptr<Socket> socket;
};

Awaitable<> send(Doors doors, Endpoint to, std::size_t size, Sent& sent) {
  auto connected = co_await doors.network.connect(to);
  sent.connected_at = doors.clock.now();
  if (!connected) {
    sent.connected = connected.error().errc();
    co_return;
  }
  sent.connected = Errc::closed;  // stands for: no error
  sent.socket = std::move(*connected);
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::uint8_t>(i * 31 >> 4);
  auto const written = co_await sent.socket->write(bytes);
  sent.written = written ? Errc::closed : written.error().errc();
  if (written) (void)co_await sent.socket->close_write();
  sent.done_at = doors.clock.now();
}

// Node 0 serves, node 1 sends.
struct TwoNodes {
  // Before the world: its tasks write to them until it ends.
  Received received;
  Received other_received;
  Sent sent;
  Sent other_sent;
  World world{{}};
  Instant begun = world.now();

  TwoNodes() {
    world.add_node(no_program);
    world.add_node(no_program);
  }
  void start(std::size_t size) {
    world.spawn(0, serve(world.doors(0), received));
    world.run_for(1ms);  // it listens
    begun = world.now();
    world.spawn(1, send(world.doors(1), {World::address(0), 4001}, size, sent));
  }
};

}  // namespace

TEST_CASE_FIXTURE(TwoNodes, "a connect takes one round trip, a byte half of one") {
  world.set_links_between(0, 1, {rules::delay(30ms)});
  start(1);
  world.run_for(1s);
  CHECK(sent.connected_at - begun == 60ms);
  CHECK(received.first - begun == 90ms);
  CHECK(received.ended == Errc::closed);
}

TEST_CASE_FIXTURE(TwoNodes, "a rate is exact, and delay adds to it") {
  world.set_links_between(0, 1, {rules::rate(1'000'000), rules::delay(10ms)});
  start(3'000'000);
  world.run_for(10s);
  REQUIRE(received.bytes.size() == 3'000'000);
  CHECK(received.last - sent.connected_at == 3s + 10ms);
  CHECK(received.ended == Errc::closed);
}

TEST_CASE_FIXTURE(TwoNodes, "two links through one rate rule share it") {
  auto const uplink = rules::rate(1'000'000);
  world.add_node(no_program);
  world.set_link(1, 0, {uplink});
  world.set_link(1, 2, {uplink});
  world.spawn(2, serve(world.doors(2), other_received));
  start(1'000'000);
  world.spawn(1, send(world.doors(1), {World::address(2), 4001}, 1'000'000, other_sent));
  world.run_for(10s);
  CHECK(std::max(received.last, other_received.last) - sent.connected_at == 2s);
}

TEST_CASE_FIXTURE(TwoNodes, "jitter and small pieces change the times, never the bytes") {
  world.set_links_between(0, 1, {rules::delay(5ms), rules::jitter(20ms), rules::pieces(7)});
  start(5000);
  world.run_for(60s);
  REQUIRE(received.bytes.size() == 5000);
  for (std::size_t i = 0; i < 5000; ++i)
    REQUIRE(received.bytes[i] == static_cast<std::uint8_t>(i * 31 >> 4));
}

TEST_CASE_FIXTURE(TwoNodes, "a writer waits when nobody reads") {
  auto listener = world.doors(0).network.listen({IpAddress::v4(0, 0, 0, 0), 4001}).value();
  world.spawn(1, send(world.doors(1), {World::address(0), 4001}, 1024 * 1024, sent));
  world.run_for(60s);
  CHECK(sent.written == Errc::closed);  // as much as the buffer holds
  world.spawn(1, send(world.doors(1), {World::address(0), 4001}, 1024 * 1024 + 1, other_sent));
  world.run_for(60s);
  CHECK(other_sent.connected == Errc::closed);
  CHECK(other_sent.written == Errc::internal);  // still waiting
}

TEST_CASE_FIXTURE(TwoNodes, "refused, unreachable, patience") {
  world.spawn(1, send(world.doors(1), {World::address(0), 4001}, 1, sent));
  world.run_for(1s);
  CHECK(sent.connected == Errc::refused);
  CHECK(sent.connected_at - begun == 10ms);
  world.spawn(1, send(world.doors(1), {IpAddress::v4(192, 168, 1, 1), 1}, 1, other_sent));
  world.run_for(1s);
  CHECK(other_sent.connected == Errc::unreachable);
  other_sent = {};
  world.partition({{0}, {1}});
  auto const asked = world.now();
  world.spawn(1, send(world.doors(1), {World::address(0), 4001}, 1, other_sent));
  world.run_for(300s);
  CHECK(other_sent.connected == Errc::timed_out);
  CHECK(other_sent.connected_at - asked == 127s);
}

TEST_CASE_FIXTURE(TwoNodes, "a rule refuses a listener that is there") {
  world.set_link(1, 0, {rules::refuse()});
  start(1);
  world.run_for(1s);
  CHECK(sent.connected == Errc::refused);
}

TEST_CASE_FIXTURE(TwoNodes, "a connection breaks in the middle of a frame, at the very byte") {
  world.set_link(1, 0, {rules::delay(5ms), rules::cut_after(12'345)});
  start(100'000);
  world.run_for(10s);
  CHECK(received.bytes.size() <= 12'345);
  CHECK(received.ended == Errc::reset);
  // What was sent before the break and had not arrived is lost, as with a real reset.
  CHECK(sent.written == Errc::reset);
}

TEST_CASE_FIXTURE(TwoNodes, "a partition holds what is sent; healing delivers it") {
  start(1);
  world.run_until(begun + 12ms);  // connected, the byte is on its way
  REQUIRE(sent.connected == Errc::closed);
  world.run_for(1s);
  REQUIRE(received.bytes.size() == 1);
  world.partition({{0}, {1}});
  world.spawn(0, serve(world.doors(0), other_received));
  world.spawn(1, send(world.doors(1), {World::address(0), 4001}, 100, other_sent));
  world.run_for(60s);
  CHECK(other_sent.connected == Errc::internal);
  world.heal();
  world.run_for(1s);
  CHECK(other_sent.connected == Errc::closed);
  CHECK(other_received.bytes.size() == 100);
}

TEST_CASE_FIXTURE(TwoNodes, "one direction alone can be lost") {
  start(200);
  world.run_until(begun + 11ms);  // the accept has come back, the data is on its way
  world.set_link(0, 1, {rules::hold()});
  world.run_for(10s);
  CHECK(received.bytes.size() == 200);
  CHECK(received.ended == Errc::closed);
}

TEST_CASE_FIXTURE(TwoNodes, "cut_connections resets both ends at once") {
  start(5'000'000);
  world.run_until(begun + 16ms);
  world.cut_connections(0, 1);
  world.run_for(1s);
  CHECK(received.ended == Errc::reset);
  CHECK(sent.written == Errc::reset);
  CHECK(received.bytes.size() < 5'000'000);
}

namespace {

Awaitable<> read_end(Socket& socket, Errc& seen) {
  Bytes into(1);
  auto const got = co_await socket.read_some(into);
  seen = got ? Errc::internal : got.error().errc();
}

Awaitable<> accept_and_write(Doors doors, std::unique_ptr<Socket>& kept) {
  auto listener = doors.network.listen({IpAddress::v4(0, 0, 0, 0), 4001}).value();
  kept = (co_await listener->accept()).value();
  Bytes const bytes(100);
  CHECK((co_await kept->write(bytes)).has_value());
}

}  // namespace

TEST_CASE_FIXTURE(TwoNodes, "destroying a socket ends the stream for the other side") {
  start(1000);
  world.run_for(1s);
  CHECK(received.ended == Errc::closed);  // so the server has destroyed its socket
  Errc seen = Errc::internal;
  world.spawn(1, read_end(*sent.socket, seen));
  world.run_for(1s);
  CHECK(seen == Errc::closed);
}

TEST_CASE_FIXTURE(TwoNodes, "destroying a socket with something unread resets the other side") {
  std::unique_ptr<Socket> server;
  world.spawn(0, accept_and_write(world.doors(0), server));
  world.run_for(1ms);
  world.spawn(1, send(world.doors(1), {World::address(0), 4001}, 1, sent));
  world.run_for(1s);
  sent.socket.reset();
  world.run_for(1s);
  // The byte and the end of the stream had come before.
  Errc seen = Errc::internal;
  world.spawn(0, read_end(*server, seen));
  world.run_for(1s);
  world.spawn(0, read_end(*server, seen));
  world.run_for(1s);
  CHECK(seen == Errc::reset);
}

TEST_CASE_FIXTURE(TwoNodes, "names resolve, ports are unique, loopback stays inside") {
  world.add_name("boot", 0);
  std::vector<IpAddress> found;
  world.spawn(1, [](Doors doors, std::vector<IpAddress>& into) -> Awaitable<> {
    into = (co_await doors.network.resolve("boot", IpFamily::v4)).value();
    CHECK_FALSE((co_await doors.network.resolve("boot", IpFamily::v6)).has_value());
    CHECK_FALSE((co_await doors.network.resolve("nobody", IpFamily::any)).has_value());
  }(world.doors(1), found));
  world.run_for(1s);
  CHECK(found == std::vector{World::address(0)});
  auto& network = world.doors(0).network;
  auto const one = network.listen({World::address(0), 0}).value();
  auto const other = network.listen({World::address(0), 0}).value();
  CHECK(one->local().port != other->local().port);
  CHECK(network.listen(one->local()).error().errc() == Errc::address_in_use);
  CHECK(network.listen({World::address(1), 0}).error().errc() == Errc::unreachable);
  world.spawn(0, send(world.doors(0), {IpAddress::v4(127, 0, 0, 1), 4001}, 1, sent));
  world.run_for(1s);
  CHECK(sent.connected == Errc::refused);
}
