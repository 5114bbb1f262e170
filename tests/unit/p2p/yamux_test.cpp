// One test a rule of the protocol, with frames written by hand.
#include "yamux_wire.hpp"

#include <doctest/doctest.h>

#include <set>

using namespace grapevine;
using namespace grapevine::yamux;

namespace {

constexpr Instant start{};
constexpr std::uint32_t initial = limits::yamux_window_initial;

Frame syn(StreamId id) { return {Type::window_update, Frame::syn, id, 0}; }
Frame data(StreamId id, std::uint32_t size, std::uint16_t flags = 0) {
  return {Type::data, flags, id, size};
}

struct Server {
  Session session{Role::server, start};
  Instant now = start;

  Result<> gets(Frame const& header, ByteView payload = {}) {
    return session.receive(frame(header, payload), now);
  }
  void accepts(StreamId id) { REQUIRE(gets(syn(id)).has_value()); }
  std::vector<Sent> sends() { return frames(drain(session)); }
};

void check_violation(Server& server, Result<> const& result, Errc errc = Errc::protocol_violation) {
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().errc() == errc);
  auto const sent = server.sends();
  CHECK(std::count_if(sent.begin(), sent.end(), [](Sent const& one) {
          return one.header == Frame{Type::go_away, 0, 0, 1};
        }) == 1);
}

}  // namespace

TEST_CASE("headers are twelve big-endian bytes") {
  CHECK(to_hex(frame({Type::ping, Frame::syn, 0, 0})) == "000200010000000000000000");
  CHECK(to_hex(frame({Type::data, Frame::fin, 0x01020304, 0x0a0b0c0d})) ==
        "00000004010203040a0b0c0d");
}

TEST_CASE("another version, type, parity or stream zero ends the session") {
  {
    Server server;
    check_violation(server,
                    server.session.receive(from_hex("010200010000000000000000").value(), start));
  }
  {
    Server server;
    check_violation(server,
                    server.session.receive(from_hex("000400010000000000000000").value(), start));
  }
  for (auto const& header : {syn(2), syn(0), data(0, 0), Frame{Type::ping, Frame::syn, 1, 0}}) {
    Server server;
    check_violation(server, server.gets(header));
  }
}

TEST_CASE("a SYN is accepted at once, on either frame type, and only once") {
  Server server;
  CHECK(server.gets(syn(1)).has_value());
  CHECK(server.gets(data(3, 2, Frame::syn | Frame::fin), as_bytes("hi")).has_value());
  CHECK(server.session.take_events() ==
        std::vector<Event>{{Event::opened, 1}, {Event::opened, 3}, {Event::readable, 3}});
  auto const sent = server.sends();
  REQUIRE(sent.size() == 2);
  CHECK(sent[0].header == Frame{Type::window_update, Frame::ack, 1, 0});
  CHECK(sent[1].header == Frame{Type::window_update, Frame::ack, 3, 0});
  CHECK(as_text(read_all(server.session, 3, start)) == "hi");
  Bytes buffer(1);
  CHECK(server.session.read(3, buffer, start).error().errc() == Errc::closed);
  check_violation(server, server.gets(syn(1)));
}

TEST_CASE("the delta of a SYN adds to the initial window") {
  Server server;
  CHECK(server.gets({Type::window_update, Frame::syn, 1, 1000}).has_value());
  Bytes const much(initial + 5000);
  CHECK_FALSE(server.session.write(1, much).value());
  std::size_t sent = 0;
  for (auto const& one : server.sends()) sent += one.payload.size();
  CHECK(sent == initial + 1000);
}

TEST_CASE("frames are no larger than we promise and never over the window") {
  Session session(Role::client, start);
  auto const id = session.open().value();
  Bytes const much(3 * initial);
  CHECK_FALSE(session.write(id, much).value());
  std::size_t total = 0;
  auto const sent = frames(drain(session));
  CHECK(sent.front().header == syn(id));
  for (auto const& one : sent) {
    CHECK(one.payload.size() <= limits::yamux_frame_payload_max);
    total += one.payload.size();
  }
  CHECK(total == initial);  // before any answer
  CHECK_FALSE(session.has_output());
  CHECK(session.receive(frame({Type::window_update, Frame::ack, id, 7}), start).has_value());
  CHECK(frames(drain(session)).back().payload.size() == 7);
  CHECK_FALSE(session.sent(id).value());
}

TEST_CASE("data up to the window is taken, one byte more ends the session") {
  Bytes const window(initial);
  {
    Server server;
    CHECK(server.gets(data(1, initial, Frame::syn), window).has_value());
    CHECK(server.session.buffered_in() == initial);
    check_violation(server, server.gets(data(1, 1)));
  }
  {
    Server server;  // at the header, before a byte of it came
    check_violation(server, server.gets(data(1, initial + 1, Frame::syn)));
  }
}

TEST_CASE("credit goes back when half of the window was read") {
  Server server;
  server.accepts(1);
  CHECK(server.gets(data(1, initial), Bytes(initial)).has_value());
  (void)server.sends();
  Bytes half(initial / 2 - 1);
  CHECK(server.session.read(1, half, start).value() == half.size());
  CHECK(server.sends().empty());
  Bytes one(1);
  CHECK(server.session.read(1, one, start).value() == 1);
  auto const sent = server.sends();
  REQUIRE(sent.size() == 1);
  CHECK(sent[0].header == Frame{Type::window_update, 0, 1, initial / 2});
}

TEST_CASE("credit for the rest of a frame that is still arriving is not given twice") {
  Server server;
  server.accepts(1);
  (void)server.sends();
  Bytes const payload(initial);
  auto const whole = frame(data(1, initial), payload);
  CHECK(server.session.receive(ByteView(whole).first(initial / 4), start).has_value());
  CHECK(read_all(server.session, 1, start).size() == initial / 4 - Frame::bytes);
  CHECK(server.sends().empty());
  CHECK(server.session.receive(ByteView(whole).subspan(initial / 4), start).has_value());
  read_all(server.session, 1, start);
  std::size_t credit = 0;
  for (auto const& one : server.sends()) credit += one.header.length;
  CHECK(credit <= initial);
  CHECK(credit >= initial / 2);
}

TEST_CASE("the window grows while it holds the sender up, to its limit and not without an rtt") {
  for (bool const measured : {false, true}) {
    Server server;
    server.accepts(1);
    if (measured) {
      server.session.ping(server.now);
      server.now += 50ms;
      CHECK(server.gets({Type::ping, Frame::ack, 0, 1}).has_value());
      CHECK(server.session.rtt().value() == 50ms);
    }
    std::uint64_t credit = initial;
    for (int i = 0; i < 40; ++i) {
      server.now += 60ms;
      CHECK(server.gets(data(1, static_cast<std::uint32_t>(credit)), Bytes(credit)).has_value());
      read_all(server.session, 1, server.now, 1 << 20);
      credit = 0;
      for (auto const& one : server.sends())
        if (one.header.type == Type::window_update && one.header.id == 1)
          credit += one.header.length;
    }
    CHECK(credit == (measured ? limits::yamux_window_max : initial));
  }
}

TEST_CASE("all windows together grow no further than the connection's memory") {
  Server server;
  server.session.ping(server.now);
  server.now += 100ms;
  CHECK(server.gets({Type::ping, Frame::ack, 0, 1}).has_value());
  std::uint64_t granted = 0;
  for (StreamId id = 1; id < 20; id += 2) {
    server.accepts(id);
    (void)server.sends();
    std::uint64_t credit = initial;
    for (int i = 0; i < 10; ++i) {
      server.now += 10ms;
      CHECK(server.gets(data(id, static_cast<std::uint32_t>(credit)), Bytes(credit)).has_value());
      read_all(server.session, id, server.now, 1 << 20);
      credit = 0;
      for (auto const& one : server.sends())
        if (one.header.id == id) credit += one.header.length;
    }
    granted += credit - initial;
  }
  CHECK(granted <= limits::connection_receive_bytes_max);
  CHECK(granted > limits::connection_receive_bytes_max / 2);
}

TEST_CASE("a send window beyond 32 bits ends the session") {
  Server server;
  server.accepts(1);
  CHECK(server.gets({Type::window_update, 0, 1, 0xffffffffU - initial}).has_value());
  check_violation(server, server.gets({Type::window_update, 0, 1, 1}));
}

TEST_CASE("an RST may carry an error code in its length") {
  Server server;
  server.accepts(1);
  CHECK(server.gets({Type::window_update, Frame::rst, 1, 0xffffffffU}).has_value());
  CHECK(server.session.take_events().back() == Event{Event::reset, 1});
  Bytes buffer(1);
  CHECK(server.session.read(1, buffer, start).error().errc() == Errc::reset);
  CHECK(server.session.write(1, buffer).error().errc() == Errc::reset);
}

TEST_CASE("late frames of unknown streams are drained silently, within reason") {
  Server server;
  CHECK(server.gets(data(7, 5), as_bytes("stale")).has_value());
  CHECK(server.gets({Type::window_update, Frame::fin, 9, 10}).has_value());
  CHECK(server.gets(syn(1)).has_value());
  CHECK(server.session.take_events() == std::vector<Event>{{Event::opened, 1}});
  check_violation(server, server.gets(data(7, limits::yamux_window_max + 1)));
}

TEST_CASE("pings are answered once, queued in bounds and limited in rate") {
  Server server;
  CHECK(server.gets({Type::ping, Frame::syn, 0, 0xabcd}).has_value());
  auto const sent = server.sends();
  REQUIRE(sent.size() == 1);
  CHECK(sent[0].header == Frame{Type::ping, Frame::ack, 0, 0xabcd});
  CHECK(server.gets({Type::ping, Frame::ack, 0, 99}).has_value());  // nobody asked
  CHECK_FALSE(server.session.rtt().has_value());
  for (int i = 0; i < 60; ++i) CHECK(server.gets({Type::ping, Frame::syn, 0, 1}).has_value());
  CHECK(server.sends().size() == limits::yamux_pongs_queued_max);
  Result<> last;
  for (int i = 0; i < 60 && last; ++i) last = server.gets({Type::ping, Frame::syn, 0, 1});
  check_violation(server, last, Errc::limit_exceeded);
}

TEST_CASE("inbound streams stop at the limit; one more is reset, not the session") {
  Server server;
  StreamId id = 1;
  for (std::size_t i = 0; i < limits::yamux_streams_inbound_max; ++i, id += 2) server.accepts(id);
  (void)server.sends();
  CHECK(server.gets(data(id, 3, Frame::syn), as_bytes("abc")).has_value());
  auto const sent = server.sends();
  REQUIRE(sent.size() == 1);
  CHECK(sent[0].header == Frame{Type::window_update, Frame::rst, id, 0});
  server.session.release(1, start);
  CHECK(server.gets(syn(id + 2)).has_value());
  CHECK(server.session.streams() == limits::yamux_streams_inbound_max);
}

TEST_CASE("outbound streams stop at the unacknowledged limit until the peer answers") {
  Session session(Role::client, start);
  StreamId last = 0;
  for (std::size_t i = 0; i < limits::yamux_unacked_outbound_max; ++i)
    last = session.open().value();
  CHECK(session.open().error().errc() == Errc::limit_exceeded);
  // rust answers late, with its first data frame
  CHECK(session.receive(frame(data(last, 1, Frame::ack), as_bytes("x")), start).has_value());
  CHECK(session.open().has_value());
}

TEST_CASE("streams opened and thrown away wear down the allowance, finished ones do not") {
  Server finisher;
  for (StreamId id = 1; id < 6000; id += 2) {
    CHECK(finisher.gets(data(id, 1, Frame::syn | Frame::fin), as_bytes("q")).has_value());
    CHECK(finisher.session.close_write(id).has_value());
    finisher.session.release(id, start);
    (void)finisher.sends();
    CHECK(finisher.session.streams() == 0);
  }
  Server resetter;
  Result<> last;
  StreamId id = 1;
  for (; last && id < 6000; id += 2) {
    last = resetter.gets(syn(id));
    if (!last) break;
    CHECK(resetter.gets({Type::window_update, Frame::rst, id, 0}).has_value());
    resetter.session.release(id, start);
  }
  CHECK(id / 2 == static_cast<StreamId>(limits::yamux_stream_opens_burst));
  check_violation(resetter, last, Errc::limit_exceeded);
}

TEST_CASE("a peer that reads nothing makes us stop reading, not queue on") {
  Server server;
  for (std::size_t i = 0; i < limits::yamux_streams_inbound_max; ++i)
    server.accepts(static_cast<StreamId>(2 * i + 1));
  StreamId id = 100'001;
  std::size_t refused = 0;
  for (; !server.session.congested() && refused < 10'000; id += 2, ++refused) {
    server.now += 5ms;
    CHECK(server.gets(syn(id)).has_value());
  }
  CHECK(refused == limits::yamux_control_frames_max + 1);
  (void)server.sends();
  CHECK_FALSE(server.session.congested());
}

TEST_CASE("streams take turns and control frames go first") {
  Session session(Role::client, start);
  Bytes const much(initial);
  std::vector<StreamId> ids;
  for (int i = 0; i < 4; ++i) {
    ids.push_back(session.open().value());
    CHECK_FALSE(session.write(ids.back(), much).value());
  }
  Bytes first(80'000);
  first.resize(session.collect(first));
  CHECK(session.receive(frame({Type::ping, Frame::syn, 0, 5}), start).has_value());
  auto const sent = frames(drain(session));
  CHECK(sent.front().header == Frame{Type::ping, Frame::ack, 0, 5});
  std::set<StreamId> early;
  for (auto const& one : frames(first))
    if (one.header.type == Type::data) early.insert(one.header.id);
  CHECK(early.size() == 4);
}

TEST_CASE("small writes are copied, large ones lent, and their order holds") {
  Session session(Role::client, start);
  auto const id = session.open().value();
  CHECK(session.write(id, as_bytes("small")).value());
  Bytes const large(100'000, 7);
  CHECK_FALSE(session.write(id, large).value());
  CHECK(session.buffered_out() == 5);
  Bytes payload;
  for (auto const& one : frames(drain(session))) append(payload, one.payload);
  CHECK(payload.size() == 100'005);
  CHECK(as_text(ByteView(payload).first(5)) == "small");
  CHECK(session.take_events() == std::vector<Event>{{Event::writable, id}});
  CHECK(session.sent(id).value());
}

TEST_CASE("a lender that goes away takes its bytes back") {
  Session session(Role::client, start);
  auto const id = session.open().value();
  {
    Bytes const large(100'000);
    CHECK_FALSE(session.write(id, large).value());
    session.unlend(id);
  }
  session.release(id, start);
  CHECK(drain(session).empty());  // the peer never heard of it
  CHECK(session.streams() == 0);
}

TEST_CASE("half closed means reading goes on; both ends closed removes the stream") {
  Server server;
  server.accepts(1);
  CHECK(server.session.write(1, as_bytes("bye")).value());
  CHECK(server.session.close_write(1).has_value());
  CHECK(server.session.write(1, as_bytes("more")).error().errc() == Errc::closed);
  auto const sent = server.sends();
  REQUIRE(sent.size() == 3);
  CHECK(as_text(sent[1].payload) == "bye");
  CHECK(sent[2].header == Frame{Type::window_update, Frame::fin, 1, 0});  // not with the data
  CHECK(server.gets(data(1, 4), as_bytes("late")).has_value());
  CHECK(as_text(read_all(server.session, 1, start)) == "late");
  CHECK(server.gets(data(1, 0, Frame::fin)).has_value());
  server.session.release(1, start);
  CHECK(server.session.streams() == 0);
  CHECK_FALSE(server.session.has_output());
}

TEST_CASE("data behind a FIN resets that stream") {
  Server server;
  server.accepts(1);
  CHECK(server.gets(data(1, 0, Frame::fin)).has_value());
  CHECK(server.gets(data(1, 1), as_bytes("x")).has_value());
  CHECK(server.session.take_events().back() == Event{Event::reset, 1});
  CHECK(server.sends().front().header == Frame{Type::window_update, Frame::rst, 1, 0});
}

TEST_CASE("released open: reset. released after FIN: the rest goes out and the peer gets time") {
  Server server;
  server.accepts(1);
  server.accepts(3);
  (void)server.sends();
  server.session.release(1, start);
  CHECK(server.sends().front().header == Frame{Type::window_update, Frame::rst, 1, 0});
  CHECK(server.session.write(3, as_bytes("answer")).value());
  CHECK(server.session.close_write(3).has_value());
  server.session.release(3, start);
  auto const sent = server.sends();
  REQUIRE(sent.size() == 2);
  CHECK(as_text(sent[0].payload) == "answer");
  CHECK(server.gets(data(3, 4), as_bytes("junk")).has_value());
  CHECK(server.session.buffered_in() == 0);
  server.session.tick(start + limits::yamux_linger_max - 1ms);
  CHECK(server.session.streams() == 1);
  server.session.tick(start + limits::yamux_linger_max);
  CHECK(server.session.streams() == 0);
  CHECK(server.sends().front().header == Frame{Type::window_update, Frame::rst, 3, 0});
}

TEST_CASE("unread bytes of all streams stay within the connection's memory") {
  Options options;
  options.receive_bytes_max = 300'000;
  Session session(Role::server, start, options);
  Bytes const full(200'000);
  CHECK(session.receive(frame(data(1, 200'000, Frame::syn), full), start).has_value());
  CHECK(session.receive(frame(data(3, 200'000, Frame::syn), full), start).has_value());
  CHECK(session.take_events().back() == Event{Event::reset, 3});
  CHECK(session.buffered_in() == 200'000);
}

TEST_CASE("after a goodbye nothing new is opened, by either side") {
  Server server;
  server.session.go_away(GoAway::normal);
  server.session.go_away(GoAway::internal_error);  // said once
  CHECK(server.session.open().error().errc() == Errc::closed);
  CHECK(server.gets(syn(1)).has_value());
  auto const sent = server.sends();
  REQUIRE(sent.size() == 2);
  CHECK(sent[0].header == Frame{Type::go_away, 0, 0, 0});
  CHECK(sent[1].header.has(Frame::rst));

  Server other;
  CHECK(other.gets({Type::go_away, 0, 0, 0x1001}).has_value());  // codes of go
  CHECK(other.session.take_events() == std::vector<Event>{{Event::gone_away, 0}});
  CHECK(other.session.open().error().errc() == Errc::closed);
}
