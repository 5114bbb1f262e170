// What a yamux session keeps for each stream. Private to the session.
#pragma once

#include "byte_queue_detail.hpp"
#include "grapevine/p2p/yamux.hpp"

namespace grapevine::yamux {

struct Session::Stream {
  StreamId id = 0;
  bool outbound = false;
  bool released = false;   // the owner is gone
  bool was_reset = false;  // either side; nothing moves any more
  Instant released_at{};

  // receiving
  ByteQueue received;
  std::uint32_t window = limits::yamux_window_initial;  // how much may be unread or on its way
  std::uint32_t credit = limits::yamux_window_initial;  // of it, what the peer may still send
  Instant credit_returned{};
  bool remote_finished = false;

  // sending
  Bytes queued;  // small writes, copied; ahead of `lent`
  std::size_t queued_sent = 0;
  ByteView lent;
  std::uint64_t send_window = limits::yamux_window_initial;
  bool finish_wanted = false;
  bool finish_sent = false;

  // frames of its own
  bool acked = false;          // outbound: the peer answered our SYN
  std::uint16_t greeting = 0;  // SYN or ACK, not sent yet
  std::uint32_t credit_owed = 0;
  bool dirty = false;  // in the queue of the session
  bool ready = false;

  [[nodiscard]] std::size_t unsent() const { return queued.size() - queued_sent + lent.size(); }
  [[nodiscard]] bool sendable() const {
    if (was_reset || finish_sent) return false;
    return unsent() > 0 ? send_window > 0 : finish_wanted;
  }
};

}  // namespace grapevine::yamux
