#include "grapevine/wire/framing.hpp"

#include "grapevine/wire/varint.hpp"

namespace grapevine {

void append_frame(Bytes& out, ByteView message) {
  append_varint(out, message.size());
  append(out, message);
}

Result<Frame> split_frame(ByteView bytes, std::size_t bytes_max) {
  TRY_ASSIGN(auto const length, decode_varint(bytes));
  if (length.value > bytes_max)
    return fail(Errc::oversize, "message of " + std::to_string(length.value) + " bytes, at most " +
                                    std::to_string(bytes_max));
  auto const rest = bytes.subspan(length.size);
  if (rest.size() < length.value) return fail(Errc::truncated, "message");
  return Frame{rest.first(length.value), length.size + static_cast<std::size_t>(length.value)};
}

void FrameSplitter::feed(ByteView bytes) {
  buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(taken_));
  taken_ = 0;
  append(buffer_, bytes);
}

Result<std::optional<ByteView>> FrameSplitter::next() {
  auto const frame = split_frame(ByteView(buffer_).subspan(taken_), bytes_max_);
  if (frame.has_value()) {
    taken_ += frame->size;
    return frame->message;
  }
  if (frame.error().errc() == Errc::truncated) return std::nullopt;
  return tl::unexpected(frame.error());
}

}  // namespace grapevine
