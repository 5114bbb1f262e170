#include "host_world.hpp"

#include "grapevine/base/limits.hpp"

using namespace grapevine;

namespace {

std::vector<std::string> one(std::string protocol) { return {std::move(protocol)}; }

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

Awaitable<> write_and_finish(ByteStream& stream, Bytes const& bytes) {
  auto const written = co_await stream.write(bytes);
  CHECK(written.has_value());
  auto const closed = co_await stream.close_write();
  CHECK(closed.has_value());
}

Awaitable<> read_all(ByteStream& stream, Bytes& into) {
  Bytes buffer(100'000);
  while (true) {
    auto const got = co_await stream.read_some(buffer);
    if (!got) {
      CHECK(got.error().errc() == Errc::closed);
      co_return;
    }
    append(into, ByteView(buffer).first(*got));
  }
}

Bytes pattern(std::size_t size) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::uint8_t>(i * 31 + i / 257);
  return bytes;
}

Awaitable<> dial_and_identify(Host& dialer, Host& listener) {
  Events dialer_events(dialer), listener_events(listener);
  auto const found = co_await dialer.dial(address_of(listener));
  REQUIRE(found.has_value());
  CHECK(*found == listener.id());
  auto const out = co_await dialer_events.next(Host::Event::connected);
  CHECK(out.direction == Direction::outbound);
  CHECK(out.peer == listener.id());
  auto const in = co_await listener_events.next(Host::Event::connected);
  CHECK(in.direction == Direction::inbound);
  CHECK(in.peer == dialer.id());

  (void)co_await dialer_events.next(Host::Event::identified);
  (void)co_await listener_events.next(Host::Event::identified);
  auto const* info = dialer.identified(listener.id());
  REQUIRE(info != nullptr);
  CHECK(info->agent == "grapevine/0.1.0");
  CHECK(info->protocol == "grapevine/1");
  CHECK(info->listen == listener.addresses());
  CHECK(std::count(info->protocols.begin(), info->protocols.end(), "/ipfs/ping/1.0.0") == 1);
  CHECK(listener.identified(dialer.id())->observed == dialer.connections().front().address);
  CHECK(listener.known_addresses(dialer.id()) == dialer.addresses());

  auto const rtts = co_await dialer.ping(listener.id(), 5);
  REQUIRE(rtts.has_value());
  CHECK(rtts->size() == 5);

  dialer.disconnect(listener.id());
  (void)co_await dialer_events.next(Host::Event::disconnected);
  auto const gone = co_await listener_events.next(Host::Event::disconnected);
  CHECK(gone.peer == dialer.id());
  CHECK_FALSE(dialer.connected(listener.id()));
}

Awaitable<> echo_sizes(TaskGroup& group, Host& dialer, Host& listener) {
  listener.handle("/echo", echo);
  (void)co_await dialer.dial(address_of(listener));
  for (std::size_t const size : {0UL, 1UL, 65'535UL, 65'536UL, 1UL << 20, 5UL << 20}) {
    auto const protocols = one("/echo");
    auto stream = co_await dialer.open_stream(listener.id(), protocols);
    REQUIRE(stream.has_value());
    auto const sent = pattern(size);
    Bytes got;
    group.spawn(write_and_finish(*stream->stream, sent));
    co_await read_all(*stream->stream, got);
    co_await group.join();
    CHECK(got == sent);
  }
}

Awaitable<> refusals(Host& dialer, Host& listener) {
  auto const protocols = one("/nobody/has/this");
  (void)co_await dialer.dial(address_of(listener));
  auto const stream = co_await dialer.open_stream(listener.id(), protocols);
  REQUIRE_FALSE(stream.has_value());
  CHECK(stream.error().errc() == Errc::no_protocol);

  auto const stranger = PeerId::from_ed25519(std::array<std::uint8_t, 32>{1, 2, 3});
  auto const wrong = co_await dialer.dial(listener.addresses().front().with_peer(stranger));
  REQUIRE_FALSE(wrong.has_value());
  CHECK(wrong.error().errc() == Errc::wrong_peer);
  CHECK(wrong.error().detail().find(listener.id().text()) != std::string::npos);
  CHECK(dialer.connected(listener.id()));  // the good connection survives it

  auto const self = co_await dialer.dial(dialer.addresses().front());
  REQUIRE_FALSE(self.has_value());
  CHECK(self.error().errc() == Errc::wrong_peer);

  auto const nobody = co_await dialer.dial(Multiaddr::parse("/ip4/127.0.0.1/tcp/1").value());
  REQUIRE_FALSE(nobody.has_value());
  CHECK(nobody.error().errc() == Errc::refused);
  CHECK(nobody.error().detail() == "/ip4/127.0.0.1/tcp/1");

  auto const unknown = co_await dialer.connect(stranger);
  REQUIRE_FALSE(unknown.has_value());
  CHECK(unknown.error().errc() == Errc::not_connected);

  auto const other_kind =
      co_await dialer.dial(Multiaddr::parse("/ip4/127.0.0.1/udp/1/quic-v1").value());
  REQUIRE_FALSE(other_kind.has_value());
  CHECK(other_kind.error().errc() == Errc::unsupported);
}

Awaitable<> dial_into(Host& dialer, Multiaddr address, std::size_t& done) {
  auto const found = co_await dialer.dial(address);
  CHECK(found.has_value());
  ++done;
}

Awaitable<> dial_at_once(TaskGroup& group, Host& dialer, Host& listener) {
  std::size_t done = 0;
  for (int i = 0; i < 20; ++i) group.spawn(dial_into(dialer, address_of(listener), done));
  co_await group.join();
  CHECK(done == 20);
  CHECK(dialer.connections().size() == 1);
}

Awaitable<> perf_both_ways(Host& dialer, Host& listener) {
  (void)co_await dialer.dial(address_of(listener));
  auto const result = co_await dialer.perf(listener.id(), 8 << 20, 8 << 20);
  REQUIRE(result.has_value());
  auto const nothing = co_await dialer.perf(listener.id(), 0, 0);
  CHECK(nothing.has_value());
  CHECK(dialer.counters().bytes_out > 8 << 20);
  CHECK(dialer.counters().bytes_in > 8 << 20);
}

Awaitable<> keep_stream(PeerStream stream, std::optional<PeerStream>& into, Gate& changed) {
  into.emplace(std::move(stream));
  changed.notify_all();
  co_return;
}

// What arrived before the connection ended can be read after it.
Awaitable<> read_after_the_end(Host& dialer, Host& listener) {
  std::optional<PeerStream> kept;
  Gate changed;
  Events events(listener);
  listener.handle("/keep",
                  [&](PeerStream stream) { return keep_stream(std::move(stream), kept, changed); });
  (void)co_await dialer.dial(address_of(listener));
  auto const protocols = one("/keep");
  auto stream = co_await dialer.open_stream(listener.id(), protocols);
  REQUIRE(stream.has_value());
  auto const sent = pattern(50'000);
  co_await write_and_finish(*stream->stream, sent);
  while (!kept) co_await changed.wait();
  dialer.disconnect(listener.id());
  (void)co_await events.next(Host::Event::disconnected);
  Bytes got;
  co_await read_all(*kept->stream, got);
  CHECK(got == sent);
  auto const written = co_await kept->stream->write(sent);
  REQUIRE_FALSE(written.has_value());
  CHECK(written.error().errc() == Errc::reset);
}

Awaitable<> reset_wakes(Host& dialer, Host& listener) {
  std::optional<PeerStream> kept;
  Gate changed;
  listener.handle("/keep",
                  [&](PeerStream stream) { return keep_stream(std::move(stream), kept, changed); });
  (void)co_await dialer.dial(address_of(listener));
  auto const protocols = one("/keep");
  auto stream = co_await dialer.open_stream(listener.id(), protocols);
  REQUIRE(stream.has_value());
  while (!kept) co_await changed.wait();
  kept->stream->reset();
  Bytes buffer(10);
  auto const got = co_await stream->stream->read_some(buffer);
  REQUIRE_FALSE(got.has_value());
  CHECK(got.error().errc() == Errc::reset);
  kept.reset();
}

}  // namespace

TEST_CASE_FIXTURE(LoopbackWorld, "two hosts meet, introduce themselves, ping and part") {
  auto& dialer = add();
  auto& listener = add();
  run(dial_and_identify(dialer, listener));
}

TEST_CASE_FIXTURE(LoopbackWorld, "an echo returns every size, half closed from each side") {
  auto& dialer = add();
  auto& listener = add();
  TaskGroup group(runtime.executor());
  run(echo_sizes(group, dialer, listener));
}

TEST_CASE_FIXTURE(LoopbackWorld, "each refusal has its own error") {
  auto& dialer = add();
  auto& listener = add();
  run(refusals(dialer, listener));
}

TEST_CASE_FIXTURE(LoopbackWorld, "a port in use is named") {
  auto& first = add();
  HostOptions options;
  options.listen = first.addresses();
  Host second(runtime.doors(), Identity::generate(runtime.doors().random), options);
  auto const started = second.start();
  REQUIRE_FALSE(started.has_value());
  CHECK(started.error().errc() == Errc::port_in_use);
  CHECK(started.error().detail() == first.addresses().front().text());
  run([]() -> Awaitable<> { co_return; }());
}

TEST_CASE_FIXTURE(LoopbackWorld, "dials of one peer at the same time share one connection") {
  auto& dialer = add();
  auto& listener = add();
  TaskGroup group(runtime.executor());
  run(dial_at_once(group, dialer, listener));
}

TEST_CASE_FIXTURE(LoopbackWorld, "perf moves the bytes asked for, when it is served") {
  auto& dialer = add();
  HostOptions options;
  options.perf = true;
  auto& listener = add(options);
  run(perf_both_ways(dialer, listener));
}

TEST_CASE_FIXTURE(LoopbackWorld, "bytes that arrived survive their connection") {
  auto& dialer = add();
  auto& listener = add();
  run(read_after_the_end(dialer, listener));
}

TEST_CASE_FIXTURE(LoopbackWorld, "a reset wakes the reader on the other side") {
  auto& dialer = add();
  auto& listener = add();
  run(reset_wakes(dialer, listener));
}
