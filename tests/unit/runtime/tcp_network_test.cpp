#include "grapevine/runtime/tcp_network.hpp"

#include "grapevine/runtime/gate.hpp"
#include "loop_fixture.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace grapevine;

namespace {

Endpoint loopback(std::uint16_t port = 0) { return {IpAddress::v4(127, 0, 0, 1), port}; }

struct Pair {
  std::unique_ptr<Listener> listener;
  std::unique_ptr<Socket> client;
  std::unique_ptr<Socket> server;
};

Awaitable<> accept_into(Pair& pair) { pair.server = (co_await pair.listener->accept()).value(); }
Awaitable<> connect_into(Network& network, Pair& pair) {
  pair.client = (co_await network.connect(pair.listener->local())).value();
}

struct NetworkFixture : LoopFixture {
  TcpNetwork network{loop.get_executor()};
  Pair pair;

  NetworkFixture() {
    pair.listener = network.listen(loopback()).value();
    tasks.spawn(accept_into(pair));
    run(connect_into(network, pair));
  }
};

Awaitable<> send_all(Socket& socket, Bytes const& bytes) {
  CHECK((co_await socket.write(bytes)).has_value());
  CHECK((co_await socket.close_write()).has_value());
}

Awaitable<> receive_all(Socket& socket, Bytes& into) {
  Bytes chunk(70'000);
  for (;;) {
    auto const got = co_await socket.read_some(chunk);
    if (!got) {
      CHECK(got.error().errc() == Errc::closed);
      co_return;
    }
    append(into, ByteView(chunk).first(*got));
  }
}

Awaitable<> expect_read_error(Socket& socket, Errc& seen) {
  Bytes chunk(16);
  auto const got = co_await socket.read_some(chunk);
  seen = got ? Errc::internal : got.error().errc();
}

}  // namespace

TEST_CASE_FIXTURE(NetworkFixture, "a large write arrives whole, then the end of the stream") {
  Bytes sent(9'000'001);
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<std::uint8_t>(i * 7 >> 3);
  Bytes received;
  tasks.spawn(send_all(*pair.client, sent));
  run(receive_all(*pair.server, received));
  CHECK(received == sent);
  CHECK(pair.client->ends().remote == pair.listener->local());
  CHECK(pair.client->ends().local == pair.server->ends().remote);
}

namespace {

Awaitable<> read_three_and_three(Socket& socket) {
  Bytes three(3);
  CHECK((co_await read_exactly(socket, three)).has_value());
  CHECK(three == Bytes{1, 2, 3});
  CHECK((co_await read_exactly(socket, three)).error().errc() == Errc::closed);
}

}  // namespace

TEST_CASE_FIXTURE(NetworkFixture, "read_exactly takes what it needs and names the end") {
  Bytes const sent{1, 2, 3, 4, 5};
  tasks.spawn(send_all(*pair.client, sent));
  run(read_three_and_three(*pair.server));
}

namespace {

Awaitable<> reset_it(Socket& socket) {
  socket.reset();
  co_return;
}

Awaitable<> write_after_reset(Socket& socket) {
  Bytes const byte{1};
  CHECK((co_await socket.write(byte)).error().errc() == Errc::reset);
}

}  // namespace

TEST_CASE_FIXTURE(NetworkFixture, "reset wakes both ends") {
  Errc here{};
  Errc there{};
  tasks.spawn(expect_read_error(*pair.client, here));
  tasks.spawn(expect_read_error(*pair.server, there));
  run(reset_it(*pair.client));
  CHECK(here == Errc::reset);
  CHECK(there == Errc::reset);
  run(write_after_reset(*pair.client));
}

namespace {

Awaitable<> accept_forever(Listener& listener) {
  auto const accepted = co_await listener.accept();
  FAIL("not reached: ", accepted.has_value());
}

Awaitable<> cancel_both(TaskGroup& group, Awaitable<> one, Awaitable<> other) {
  group.spawn(std::move(one));
  group.spawn(std::move(other));
  group.cancel();
  co_await group.join();
}

}  // namespace

TEST_CASE_FIXTURE(NetworkFixture, "a cancelled read and a cancelled accept leave by cancellation") {
  Errc seen = Errc::internal;
  TaskGroup group(loop.get_executor());
  run(cancel_both(group, expect_read_error(*pair.server, seen), accept_forever(*pair.listener)));
  CHECK(seen == Errc::internal);  // it did not come so far
}

namespace {

Awaitable<> accept_closed(Listener& listener) {
  CHECK((co_await listener.accept()).error().errc() == Errc::closed);
}

Awaitable<> close_and_connect(Network& network, Listener& listener, Endpoint at) {
  listener.close();
  auto const refused = co_await network.connect(at);
  CHECK(refused.error().errc() == Errc::refused);
  CHECK(refused.error().detail().empty());  // the code says it all
}

}  // namespace

TEST_CASE_FIXTURE(NetworkFixture, "a closed listener ends its accept and refuses callers") {
  auto const at = pair.listener->local();
  tasks.spawn(accept_closed(*pair.listener));
  run(close_and_connect(network, *pair.listener, at));
}

TEST_CASE_FIXTURE(NetworkFixture, "an address in use is named") {
  auto const again = network.listen(pair.listener->local());
  CHECK(again.error().errc() == Errc::address_in_use);
  CHECK(again.error().detail().starts_with(pair.listener->local().text()));
}

TEST_CASE_FIXTURE(NetworkFixture, "an address that is nobody's cannot be listened on") {
  auto const foreign = network.listen({IpAddress::v4(192, 0, 2, 1), 0});
  CHECK(foreign.error().errc() == Errc::cannot_listen);
  CHECK(foreign.error().detail().starts_with("192.0.2.1:0: "));
}

namespace {

Awaitable<> look_up_names(Network& network) {
  auto const found = co_await network.resolve("localhost", IpFamily::v4);
  CHECK(std::ranges::count(found.value(), loopback().ip) == 1);
  auto const none = co_await network.resolve("no-such-name.invalid", IpFamily::any);
  CHECK(none.error().errc() == Errc::unreachable);
}

}  // namespace

TEST_CASE_FIXTURE(NetworkFixture, "localhost resolves to loopback; loopback is an interface") {
  run(look_up_names(network));
  CHECK(std::ranges::count(network.interfaces(), loopback().ip) == 1);
}
