// Two yamux sessions joined by a wire that cuts their bytes anywhere, and single frames written by
// hand: what the yamux tests share.
#pragma once

#include "grapevine/base/random.hpp"
#include "grapevine/p2p/yamux.hpp"

#include <algorithm>

namespace grapevine::yamux {

inline Bytes frame(Frame const& header, ByteView payload = {}) {
  Bytes out(Frame::bytes);
  header.encode(out);
  append(out, payload);
  return out;
}

inline Bytes drain(Session& session, std::size_t buffer_bytes = 1 << 20) {
  Bytes all;
  Bytes buffer(buffer_bytes);
  while (auto const size = session.collect(buffer)) append(all, ByteView(buffer).first(size));
  return all;
}

struct Sent {
  Frame header;
  Bytes payload;
};
// Splits what a session sent into frames.
inline std::vector<Sent> frames(ByteView bytes) {
  std::vector<Sent> all;
  while (!bytes.empty()) {
    auto const header = Frame::decode(bytes.first(Frame::bytes)).value();
    bytes = bytes.subspan(Frame::bytes);
    auto const size = header.type == Type::data ? header.length : 0;
    all.push_back({header, Bytes(bytes.begin(), bytes.begin() + size)});
    bytes = bytes.subspan(size);
  }
  return all;
}

inline Result<> feed_in_pieces(Session& to, ByteView bytes, Random& random, Instant now) {
  while (!bytes.empty()) {
    auto const count = std::min<std::size_t>(bytes.size(), 1 + random.below(5000));
    TRY(to.receive(bytes.first(count), now));
    bytes = bytes.subspan(count);
  }
  return {};
}

inline Bytes read_all(Session& session, StreamId id, Instant now, std::size_t piece = 4096) {
  Bytes all;
  Bytes buffer(piece);
  while (true) {
    auto const count = session.read(id, buffer, now);
    if (!count || *count == 0) return all;
    append(all, ByteView(buffer).first(*count));
  }
}

}  // namespace grapevine::yamux
