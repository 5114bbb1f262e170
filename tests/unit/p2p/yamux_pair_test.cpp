// Two sessions against each other: whatever is written arrives, and nothing is left behind.
#include "yamux_wire.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <map>
#include <set>

using namespace grapevine;
using namespace grapevine::yamux;

namespace {

struct End {
  Session session;
  std::map<StreamId, Bytes> to_write;  // what is left of it
  std::map<StreamId, Bytes> lent;
  std::map<StreamId, Bytes> got;
  std::set<StreamId> finished_reading;
  std::set<StreamId> finished_writing;

  explicit End(Role role) : session(role, Instant{}) {}
};

Bytes pattern(StreamId id, std::size_t size) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::uint8_t>(i * 7 + id + i / 251);
  return bytes;
}

void write_some(End& end, Random& random) {
  for (auto& [id, left] : end.to_write) {
    if (end.finished_writing.contains(id)) continue;
    if (end.lent.contains(id)) {
      if (!end.session.sent(id).value()) continue;
      end.lent.erase(id);
    }
    if (left.empty()) {
      REQUIRE(end.session.close_write(id).has_value());
      end.finished_writing.insert(id);
      continue;
    }
    auto const size = std::min<std::size_t>(left.size(), 1 + random.below(90'000));
    Bytes piece(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(size));
    left.erase(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(size));
    auto& kept = end.lent[id] = std::move(piece);
    if (end.session.write(id, kept).value()) end.lent.erase(id);
  }
}

void read_some(End& end, Random& random, Instant now) {
  Bytes buffer(1 + random.below(70'000));
  for (auto& [id, got] : end.got) {
    if (end.finished_reading.contains(id) || random.below(3) == 0) continue;
    auto const count = end.session.read(id, buffer, now);
    if (!count) {
      REQUIRE(count.error().errc() == Errc::closed);
      end.finished_reading.insert(id);
    } else {
      append(got, ByteView(buffer).first(*count));
    }
  }
}

void move(End& from, End& to, Random& random, Instant now) {
  Bytes buffer(Frame::bytes + random.below(70'000));
  auto const size = from.session.collect(buffer);
  REQUIRE(feed_in_pieces(to.session, ByteView(buffer).first(size), random, now).has_value());
  for (auto const& event : to.session.take_events()) {
    REQUIRE(event.kind != Event::reset);
    if (event.kind == Event::opened) {
      to.got[event.id];
      to.to_write[event.id] = pattern(event.id + 1, random.below(200'000));
    }
  }
}

bool over(End const& end) {
  return end.finished_reading.size() == end.got.size() &&
         end.finished_writing.size() == end.to_write.size();
}

}  // namespace

TEST_CASE("everything written on many streams arrives, under any fragmentation") {
  CHECK(rc::check("pair", [](std::uint64_t seed) {
    SeededRandom random(seed);
    End client(Role::client), server(Role::server);
    std::map<StreamId, std::size_t> sizes;
    auto const streams = 1 + random.below(12);
    for (std::uint64_t i = 0; i < streams; ++i) {
      auto const id = client.session.open().value();
      sizes[id] = random.below(900'000);
      client.to_write[id] = pattern(id, sizes[id]);
      client.got[id];
    }
    std::map<StreamId, std::size_t> answers;
    Instant now{};
    for (int turn = 0; turn < 20'000; ++turn) {
      now += 1ms;
      write_some(client, random);
      write_some(server, random);
      move(client, server, random, now);
      move(server, client, random, now);
      read_some(client, random, now);
      read_some(server, random, now);
      if (turn % 64 == 5) client.session.ping(now);
      if (server.got.size() == streams && over(client) && over(server)) break;
    }
    RC_ASSERT(server.got.size() == streams);
    for (auto const& [id, size] : sizes) {
      RC_ASSERT(server.got[id] == pattern(id, size));
      RC_ASSERT(client.got[id] == pattern(id + 1, client.got[id].size()));
    }
    RC_ASSERT(over(client) && over(server));
    for (auto const& [id, size] : sizes) {
      client.session.release(id, now);
      server.session.release(id, now);
    }
    RC_ASSERT(client.session.streams() == 0 && server.session.streams() == 0);
    RC_ASSERT(client.session.buffered_in() == 0 && server.session.buffered_in() == 0);
    RC_ASSERT(client.session.buffered_out() == 0 && server.session.buffered_out() == 0);
  }));
}

TEST_CASE("any bytes at all end in an error or in a session that still works") {
  CHECK(rc::check("noise in", [](std::uint64_t seed) {
    SeededRandom random(seed);
    Session session(Role::server, Instant{});
    Instant now{};
    for (int i = 0; i < 300; ++i) {
      now += 1ms;
      Frame header{static_cast<Type>(random.below(4)), static_cast<std::uint16_t>(random.below(16)),
                   static_cast<StreamId>(random.below(8)),
                   static_cast<std::uint32_t>(random.below(random.below(2) ? 64 : 300'000))};
      Bytes payload(header.type == Type::data ? header.length : 0);
      if (!feed_in_pieces(session, frame(header, payload), random, now)) return;
      for (auto const& event : session.take_events()) {
        if (event.kind != Event::opened) continue;
        if (random.below(2) == 0) (void)session.write(event.id, as_bytes("hello"));
        if (random.below(2) == 0) session.release(event.id, now);
      }
      if (random.below(3) == 0) drain(session);
      RC_ASSERT(session.streams() <= limits::yamux_streams_inbound_max);
      RC_ASSERT(session.buffered_in() <= limits::connection_receive_bytes_max);
    }
  }));
}
