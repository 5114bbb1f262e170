// Messages behind a varint length, as identify, gossip and our own protocols send them. The length
// is checked against a cap before anything is kept. FrameSplitter belongs to one stream; not
// thread-safe; it never reads a socket.
#pragma once

#include "grapevine/base/bytes.hpp"

#include <optional>

namespace grapevine {

void append_frame(Bytes& out, ByteView message);

struct Frame {
  ByteView message;      // points into the bytes it was split from
  std::size_t size = 0;  // with its length prefix
};
// The frame that `bytes` starts with. Errc::truncated: wait for more; Errc::oversize: a length over
// `bytes_max`; Errc::malformed: a bad length.
[[nodiscard]] Result<Frame> split_frame(ByteView bytes, std::size_t bytes_max);

// Takes bytes as they arrive and hands out whole messages. Call next() until it has nothing before
// the next feed(): then at most one partial frame of `bytes_max` is held.
class FrameSplitter {
 public:
  explicit FrameSplitter(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  void feed(ByteView bytes);
  // A message (valid until the next feed), or nothing yet. After an error the stream is useless.
  [[nodiscard]] Result<std::optional<ByteView>> next();
  [[nodiscard]] bool empty() const { return taken_ == buffer_.size(); }  // no partial frame

 private:
  std::size_t bytes_max_;
  Bytes buffer_;
  std::size_t taken_ = 0;  // bytes of buffer_ handed out already
};

}  // namespace grapevine
