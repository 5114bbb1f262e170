#include "yamux_detail.hpp"

#include "grapevine/base/assert.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

namespace grapevine::yamux {

Result<Frame> Frame::decode(ByteView header) {
  ASSERT(header.size() == bytes);
  if (header[0] != 0)
    return fail(Errc::protocol_violation, fmt::format("yamux version {}", header[0]));
  if (header[1] > static_cast<std::uint8_t>(Type::go_away))
    return fail(Errc::protocol_violation, fmt::format("yamux frame type {}", header[1]));
  return Frame{static_cast<Type>(header[1]), read_be<std::uint16_t>(header.subspan(2, 2)),
               read_be<std::uint32_t>(header.subspan(4, 4)),
               read_be<std::uint32_t>(header.subspan(8, 4))};
}

Result<> Session::receive(ByteView plain, Instant now) {
  while (!plain.empty()) {
    if (payload_left_ > 0) {
      auto const count = std::min<std::size_t>(plain.size(), payload_left_);
      take_payload(plain.first(count));
      plain = plain.subspan(count);
      continue;
    }
    auto const count = std::min(plain.size(), header_.size() - header_size_);
    std::memcpy(header_.data() + header_size_, plain.data(), count);
    header_size_ += count;
    plain = plain.subspan(count);
    if (header_size_ < header_.size()) break;
    header_size_ = 0;
    auto const frame = Frame::decode(header_);
    if (!frame) return violation(frame.error().detail());
    TRY(on_header(*frame, now));
  }
  return {};
}

Result<> Session::on_header(Frame const& frame, Instant now) {
  switch (frame.type) {
    case Type::data:
    case Type::window_update:
      return on_stream_frame(frame, now);
    case Type::ping:
      return on_ping(frame, now);
    case Type::go_away:
      return on_go_away();
  }
  return {};
}

// Exactly one pong for a ping: rust closes the connection at a pong too many. Unasked pongs are
// ignored, as go does.
Result<> Session::on_ping(Frame const& frame, Instant now) {
  if (frame.id != 0) return violation(fmt::format("ping on stream {}", frame.id));
  if (frame.has(Frame::syn)) {
    if (!pings_.take(now)) {
      go_away(GoAway::protocol_error);
      return fail(Errc::limit_exceeded, "too many pings");
    }
    if (pongs_queued_ >= limits::yamux_pongs_queued_max) return {};
    ++pongs_queued_;
    queue_control({Type::ping, Frame::ack, 0, frame.length});
    return {};
  }
  if (!frame.has(Frame::ack) || !ping_sent_ || frame.length != ping_value_) return {};
  auto const sample = now - *ping_sent_;
  rtt_ = rtt_ ? (3 * *rtt_ + sample) / 4 : sample;
  ping_sent_.reset();
  return {};
}

// Any code: go puts its own error numbers there.
Result<> Session::on_go_away() {
  if (!gone_away_) events_.push_back({Event::gone_away, 0});
  gone_away_ = true;
  return {};
}

Result<> Session::on_stream_frame(Frame const& frame, Instant now) {
  if (frame.id == 0) return violation("stream frame on stream 0");
  auto* stream = find(frame.id);
  if (frame.has(Frame::syn)) {
    if (stream != nullptr) return violation(fmt::format("stream {} opened twice", frame.id));
    TRY_ASSIGN(stream, accept(frame, now));
  }
  // Of a stream we forgot, reset or refused: the peer could not know, so it is dropped silently.
  if (stream == nullptr || stream->was_reset) {
    if (frame.type != Type::data) return {};
    if (frame.length > limits::yamux_window_max)
      return violation(fmt::format("data frame of {} bytes", frame.length));
    payload_left_ = frame.length;
    return {};
  }
  if (stream->outbound && !stream->acked) {
    stream->acked = true;  // by whatever frame: not everyone answers a SYN at once
    --unacked_;
  }
  if (frame.type == Type::data) return on_data(*stream, frame);
  if (frame.has(Frame::rst)) {  // its length may be an error code, not a delta
    on_reset(*stream);
    return {};
  }
  TRY(on_window_update(*stream, frame.length));
  if (frame.has(Frame::fin)) on_finished(*stream);
  return {};
}

Result<Session::Stream*> Session::accept(Frame const& frame, Instant now) {
  bool const odd = frame.id % 2 == 1;
  if (odd != (role_ == Role::server))
    return violation(fmt::format("stream id {} of the wrong side", frame.id));
  if (!opens_.take(now)) {
    go_away(GoAway::protocol_error);
    return fail(Errc::limit_exceeded, "streams opened and thrown away too fast");
  }
  if (said_goodbye_ || inbound_ >= options_.streams_inbound_max) {
    queue_control({Type::window_update, Frame::rst, frame.id, 0});
    return nullptr;
  }
  auto& stream = *(streams_[frame.id] = std::make_unique<Stream>());
  stream.id = frame.id;
  stream.acked = true;
  stream.greeting = Frame::ack;
  ++inbound_;
  mark_dirty(stream);
  tell(Event::opened, stream);
  return &stream;
}

Result<> Session::on_window_update(Stream& stream, std::uint32_t delta) {
  auto const window = stream.send_window + delta;
  if (window > std::numeric_limits<std::uint32_t>::max())
    return violation(fmt::format("send window of stream {} beyond 32 bits", stream.id));
  stream.send_window = window;
  mark_ready(stream);
  return {};
}

// Decided at the header, before a byte of the payload is taken.
Result<> Session::on_data(Stream& stream, Frame const& frame) {
  if (frame.length > stream.credit)
    return violation(fmt::format("data frame of {} bytes over a window of {} on stream {}",
                                 frame.length, stream.credit, stream.id));
  payload_left_ = frame.length;
  payload_to_ = stream.id;
  payload_flags_ = frame.flags;
  if (frame.has(Frame::rst)) {
    on_reset(stream);
  } else if (frame.length > 0 && stream.remote_finished) {
    misbehaved(stream);
  } else {
    stream.credit -= frame.length;
  }
  if (frame.length == 0) on_payload_end();
  return {};
}

void Session::take_payload(ByteView bytes) {
  auto* const stream = payload_to_ == 0 ? nullptr : find(payload_to_);
  if (stream != nullptr && !stream->was_reset && !stream->released) {
    if (buffered_in_ + bytes.size() > options_.receive_bytes_max) {
      misbehaved(*stream);
    } else {
      stream->received.append(bytes);
      buffered_in_ += bytes.size();
      tell(Event::readable, *stream);
    }
  }
  payload_left_ -= static_cast<std::uint32_t>(bytes.size());
  if (payload_left_ == 0) on_payload_end();
}

void Session::on_payload_end() {
  auto* const stream = payload_to_ == 0 ? nullptr : find(payload_to_);
  bool const finished = (payload_flags_ & Frame::fin) != 0;
  payload_to_ = 0;
  payload_flags_ = 0;
  if (stream != nullptr && finished && !stream->was_reset) on_finished(*stream);
}

void Session::on_finished(Stream& stream) {
  if (stream.remote_finished) return;
  stream.remote_finished = true;
  tell(Event::readable, stream);
  erase_if_done(stream.id);
}

void Session::on_reset(Stream& stream) {
  tell(Event::reset, stream);
  kill(stream);
  erase_if_done(stream.id);
}

void Session::misbehaved(Stream& stream) {
  tell(Event::reset, stream);
  reset_stream(stream);
  erase_if_done(stream.id);
}

void Session::tell(Event::Kind kind, Stream const& stream) {
  if (stream.released) return;
  Event const event{kind, stream.id};
  if (events_.empty() || events_.back() != event) events_.push_back(event);
}

tl::unexpected<Error> Session::violation(std::string what) {
  go_away(GoAway::protocol_error);
  return fail(Errc::protocol_violation, std::move(what));
}

}  // namespace grapevine::yamux
