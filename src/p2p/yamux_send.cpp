#include "yamux_detail.hpp"

#include "grapevine/base/assert.hpp"

#include <algorithm>

namespace grapevine::yamux {
namespace {

// What one stream may send in its turn while others wait.
constexpr std::size_t turn_bytes = 16 * 1024;
// Rather than squeeze less than this into the end of a buffer, a stream waits for the next one.
constexpr std::size_t piece_bytes_min = 1024;

}  // namespace

void Frame::encode(MutableByteView out) const {
  ASSERT(out.size() >= bytes);
  out[0] = 0;
  out[1] = static_cast<std::uint8_t>(type);
  out[2] = static_cast<std::uint8_t>(flags >> 8);
  out[3] = static_cast<std::uint8_t>(flags);
  for (std::size_t i = 0; i < 4; ++i) {
    out[4 + i] = static_cast<std::uint8_t>(id >> (24 - 8 * i));
    out[8 + i] = static_cast<std::uint8_t>(length >> (24 - 8 * i));
  }
}

void Session::queue_control(Frame const& frame) { control_.push_back(frame); }

void Session::mark_dirty(Stream& stream) {
  if (stream.dirty) return;
  stream.dirty = true;
  dirty_.push_back(stream.id);
}

void Session::mark_ready(Stream& stream) {
  if (stream.ready || !stream.sendable()) return;
  stream.ready = true;
  ready_.push_back(stream.id);
}

bool Session::has_output() const { return !control_.empty() || !dirty_.empty() || !ready_.empty(); }

std::size_t Session::collect(MutableByteView out) {
  auto const control = collect_control(out);
  // A stream's first data goes behind its SYN, which is a control frame.
  if (!control_.empty() || !dirty_.empty()) return control;
  return control + collect_data(out.subspan(control));
}

std::size_t Session::collect_control(MutableByteView out) {
  std::size_t used = 0;
  while (!control_.empty() && out.size() - used >= Frame::bytes) {
    auto const frame = control_.front();
    control_.pop_front();
    if (frame.type == Type::ping && frame.has(Frame::ack)) --pongs_queued_;
    frame.encode(out.subspan(used));
    used += Frame::bytes;
  }
  while (control_.empty() && !dirty_.empty() && out.size() - used >= Frame::bytes) {
    auto* const stream = find(dirty_.front());
    dirty_.pop_front();
    if (stream == nullptr) continue;
    stream->dirty = false;
    if (stream->greeting == 0 && stream->credit_owed == 0) continue;
    Frame const frame{Type::window_update, stream->greeting, stream->id, stream->credit_owed};
    stream->greeting = 0;
    stream->credit_owed = 0;
    frame.encode(out.subspan(used));
    used += Frame::bytes;
  }
  return used;
}

std::size_t Session::collect_data(MutableByteView out) {
  std::size_t used = 0;
  while (!ready_.empty() && out.size() - used >= Frame::bytes) {
    auto const id = ready_.front();
    auto* const stream = find(id);
    if (stream == nullptr || !stream->sendable()) {
      ready_.pop_front();
      if (stream != nullptr) stream->ready = false;
      continue;
    }
    auto const wanted = std::min<std::uint64_t>(stream->unsent(), stream->send_window);
    auto const room = out.size() - used - Frame::bytes;
    if (room < std::min<std::uint64_t>(wanted, piece_bytes_min)) break;
    ready_.pop_front();
    stream->ready = false;
    auto const quantum = ready_.empty() ? limits::yamux_frame_payload_max : turn_bytes;
    used += put_data(*stream, out.subspan(used), quantum);
    if (stream->finish_sent)
      erase_if_done(id);
    else
      mark_ready(*stream);
  }
  return used;
}

// One frame: data, or the FIN when no data is left. The FIN rides on a window update, as in go and
// js; js misses an end that arrives in the same frame as the data.
std::size_t Session::put_data(Stream& stream, MutableByteView out, std::size_t quantum) {
  if (stream.unsent() == 0) {
    Frame{Type::window_update, Frame::fin, stream.id, 0}.encode(out);
    stream.finish_sent = true;
    return Frame::bytes;
  }
  auto const size = std::min({stream.unsent(), static_cast<std::size_t>(stream.send_window),
                              out.size() - Frame::bytes, quantum});
  Frame{Type::data, 0, stream.id, static_cast<std::uint32_t>(size)}.encode(out);
  auto* to = out.data() + Frame::bytes;
  auto const copied = std::min(size, stream.queued.size() - stream.queued_sent);
  if (copied > 0) {
    std::memcpy(to, stream.queued.data() + stream.queued_sent, copied);
    stream.queued_sent += copied;
    buffered_out_ -= copied;
    if (stream.queued_sent == stream.queued.size()) {
      stream.queued.clear();
      stream.queued_sent = 0;
    }
  }
  auto const from_lent = size - copied;
  if (from_lent > 0) {
    std::memcpy(to + copied, stream.lent.data(), from_lent);
    stream.lent = stream.lent.subspan(from_lent);
    if (stream.lent.empty()) tell(Event::writable, stream);
  }
  stream.send_window -= size;
  return Frame::bytes + size;
}

}  // namespace grapevine::yamux
