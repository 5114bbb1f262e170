#include "yamux_detail.hpp"

#include "grapevine/base/assert.hpp"

#include <algorithm>
#include <limits>

namespace grapevine::yamux {

Session::Session(Role role, Instant now, Options options)
    : role_(role),
      options_(options),
      next_id_(role == Role::client ? 1 : 2),
      opens_(limits::yamux_stream_opens_per_s, limits::yamux_stream_opens_burst, now),
      pings_(limits::yamux_pings_per_s_max, limits::yamux_pings_per_s_max, now) {}

Session::~Session() = default;

std::vector<Event> Session::take_events() { return std::exchange(events_, {}); }

bool Session::congested() const { return control_.size() > limits::yamux_control_frames_max; }

Session::Stream* Session::find(StreamId id) const {
  auto const at = streams_.find(id);
  return at == streams_.end() ? nullptr : at->second.get();
}

Session::Stream& Session::own(StreamId id) const {
  auto* const stream = find(id);
  ASSERT(stream != nullptr);
  ASSERT(!stream->released);
  return *stream;
}

Result<StreamId> Session::open() {
  if (said_goodbye_ || gone_away_ || next_id_ > std::numeric_limits<StreamId>::max() - 2)
    return fail(Errc::closed, "the connection is closing");
  if (outbound_ >= limits::yamux_streams_outbound_max ||
      unacked_ >= limits::yamux_unacked_outbound_max)
    return fail(Errc::limit_exceeded, "too many streams are open on this connection");
  auto const id = next_id_;
  next_id_ += 2;
  auto& stream = *(streams_[id] = std::make_unique<Stream>());
  stream.id = id;
  stream.outbound = true;
  stream.greeting = Frame::syn;
  ++outbound_;
  ++unacked_;
  mark_dirty(stream);
  return id;
}

Result<std::size_t> Session::read(StreamId id, MutableByteView into, Instant now) {
  auto& stream = own(id);
  if (stream.was_reset) return fail(Errc::reset, "stream reset");
  auto const count = stream.received.read(into);
  if (count == 0 && stream.remote_finished) return fail(Errc::closed, "end of stream");
  buffered_in_ -= count;
  return_credit(stream, now);
  return count;
}

// Credit goes back in halves of the window. When the halves follow each other faster than a few
// round trips the window is what holds the sender up, so it doubles (as go, rust and js do).
void Session::return_credit(Stream& stream, Instant now) {
  if (stream.remote_finished) return;
  // What is left of a frame that is still arriving was taken from the credit at its header.
  auto const arriving = payload_to_ == stream.id ? payload_left_ : 0;
  auto const taken = std::uint64_t{stream.credit} + stream.received.size() + arriving;
  ASSERT(taken <= stream.window);
  if (stream.window - taken < stream.window / 2) return;
  bool const held_up =
      rtt_ && stream.credit_returned != Instant{} && now - stream.credit_returned < 4 * *rtt_;
  auto const growth = std::min(stream.window, limits::yamux_window_max - stream.window);
  if (held_up && window_growth_ + growth <= options_.receive_bytes_max) {
    stream.window += growth;
    window_growth_ += growth;
  }
  auto const delta = static_cast<std::uint32_t>(stream.window - taken);
  stream.credit += delta;
  stream.credit_owed += delta;
  stream.credit_returned = now;
  mark_dirty(stream);
}

Result<bool> Session::write(StreamId id, ByteView bytes) {
  auto& stream = own(id);
  ASSERT(stream.lent.empty());
  if (stream.was_reset) return fail(Errc::reset, "stream reset");
  if (stream.finish_wanted) return fail(Errc::closed, "written after the end of the stream");
  // Below this size the wake-up of the lender costs more than the copy.
  constexpr std::size_t copied_max = 16 * 1024;
  bool const copy = bytes.size() <= copied_max &&
                    stream.unsent() + bytes.size() <= limits::yamux_absorbed_max &&
                    buffered_out_ + bytes.size() <= limits::connection_send_bytes_max;
  if (copy) {
    if (stream.queued_sent > limits::yamux_absorbed_max) {
      auto const sent = static_cast<std::ptrdiff_t>(stream.queued_sent);
      stream.queued.erase(stream.queued.begin(), stream.queued.begin() + sent);
      stream.queued_sent = 0;
    }
    append(stream.queued, bytes);
    buffered_out_ += bytes.size();
  } else {
    stream.lent = bytes;
  }
  mark_ready(stream);
  return copy;
}

Result<bool> Session::sent(StreamId id) const {
  auto const& stream = own(id);
  if (stream.was_reset) return fail(Errc::reset, "stream reset");
  return stream.lent.empty();
}

void Session::unlend(StreamId id) { own(id).lent = {}; }

Result<> Session::close_write(StreamId id) {
  auto& stream = own(id);
  ASSERT(stream.lent.empty());
  if (stream.was_reset) return fail(Errc::reset, "stream reset");
  stream.finish_wanted = true;
  mark_ready(stream);
  return {};
}

void Session::reset(StreamId id) { reset_stream(own(id)); }

void Session::reset_stream(Stream& stream) {
  if (stream.was_reset) return;
  bool const unknown_there = (stream.greeting & Frame::syn) != 0;
  bool const over = stream.finish_sent && stream.remote_finished;
  if (!unknown_there && !over) queue_control({Type::window_update, Frame::rst, stream.id, 0});
  kill(stream);
}

void Session::release(StreamId id, Instant now) {
  auto& stream = own(id);
  stream.lent = {};
  stream.released = true;
  stream.released_at = now;
  if (!stream.finish_wanted) reset_stream(stream);
  drop_received(stream);
  erase_if_done(id);
}

void Session::drop_received(Stream& stream) {
  buffered_in_ -= stream.received.size();
  stream.received.clear();
}

void Session::kill(Stream& stream) {
  drop_received(stream);
  buffered_out_ -= stream.queued.size() - stream.queued_sent;
  stream.queued = {};
  stream.queued_sent = 0;
  stream.lent = {};
  stream.greeting = 0;
  stream.credit_owed = 0;
  stream.was_reset = true;
}

void Session::erase_if_done(StreamId id) {
  auto* const stream = find(id);
  if (stream == nullptr || !stream->released) return;
  bool const over = stream->finish_sent && stream->remote_finished;
  if (!stream->was_reset && !over) return;
  window_growth_ -= stream->window - limits::yamux_window_initial;
  if (stream->outbound) {
    --outbound_;
    if (!stream->acked) --unacked_;
  } else {
    --inbound_;
    if (!stream->was_reset) opens_.give_back();  // only streams thrown away wear the allowance down
  }
  streams_.erase(id);
}

void Session::go_away(GoAway code) {
  if (said_goodbye_) return;
  said_goodbye_ = true;
  queue_control({Type::go_away, 0, 0, static_cast<std::uint32_t>(code)});
}

void Session::ping(Instant now) {
  if (ping_sent_) return;
  ping_sent_ = now;
  queue_control({Type::ping, Frame::syn, 0, ++ping_value_});
}

void Session::tick(Instant now) {
  std::vector<StreamId> late;
  for (auto const& [id, stream] : streams_)
    if (stream->released && now - stream->released_at >= limits::yamux_linger_max)
      late.push_back(id);
  for (auto const id : late) {
    reset_stream(*find(id));
    erase_if_done(id);
  }
}

}  // namespace grapevine::yamux
