// yamux/1.0.0: many streams over one ordered, reliable byte stream. A pure machine: plaintext goes
// in with any fragmentation, events and frames come out. It owns receive buffers and windows;
// bytes to send stay with the caller where they are large ("lent"), so that they are copied once.
// Owned by one Connection, loop thread. Never allocates by a length a peer claims, never queues
// more than its limits for a peer that does not read, never blocks.
// Sources: hashicorp yamux spec; libp2p specs yamux/README.md; what go, rust, js and py do.
//
//            open()/SYN                    close_write(), FIN both ways, release()
//   (none) ------------> open --> half closed ----------------------------------> (none)
//                          \______ reset() or RST, release() _____________________^
#pragma once

#include "grapevine/base/bytes.hpp"
#include "grapevine/base/limits.hpp"
#include "grapevine/base/time.hpp"
#include "grapevine/base/token_bucket.hpp"

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace grapevine::yamux {

enum class Role : std::uint8_t { client, server };  // the client dialled: its stream ids are odd
using StreamId = std::uint32_t;

enum class GoAway : std::uint32_t { normal = 0, protocol_error = 1, internal_error = 2 };

enum class Type : std::uint8_t { data = 0, window_update = 1, ping = 2, go_away = 3 };

struct Frame {
  Type type = Type::data;
  std::uint16_t flags = 0;
  StreamId id = 0;
  std::uint32_t length = 0;  // data: payload bytes; window update: delta; else an opaque value

  static constexpr std::size_t bytes = 12;
  static constexpr std::uint16_t syn = 1, ack = 2, fin = 4, rst = 8;
  [[nodiscard]] bool has(std::uint16_t flag) const { return (flags & flag) != 0; }
  void encode(MutableByteView out) const;
  // Errc::protocol_violation for another version or type.
  [[nodiscard]] static Result<Frame> decode(ByteView header);
  bool operator==(Frame const&) const = default;
};

struct Event {
  enum Kind : std::uint8_t {
    opened,    // the peer opened `id`; release(id) when done with it
    readable,  // data or the end of the data
    writable,  // what was lent has gone out
    reset,     // by the peer, or by us for its misbehaviour
    gone_away  // the peer will open and accept no more; id 0
  };
  Kind kind;
  StreamId id = 0;
  bool operator==(Event const&) const = default;
};

struct Options {
  std::size_t streams_inbound_max = limits::yamux_streams_inbound_max;
  std::size_t receive_bytes_max = limits::connection_receive_bytes_max;
};

class Session {
 public:
  Session(Role role, Instant now, Options options = {});
  ~Session();
  Session(Session const&) = delete;

  // Bytes from the peer. An error ends the session: the farewell is in collect(), then close.
  Result<> receive(ByteView plain, Instant now);
  [[nodiscard]] std::vector<Event> take_events();
  // Above its bounds of unsent control frames: read no more from the peer until it reads.
  [[nodiscard]] bool congested() const;

  // Frames to send, at most out.size() bytes: control first, then the streams in turn.
  [[nodiscard]] std::size_t collect(MutableByteView out);
  [[nodiscard]] bool has_output() const;

  // Errc::limit_exceeded when too many are open or unacknowledged, Errc::closed after a goodbye.
  Result<StreamId> open();
  // Bytes read; 0: nothing yet. Errc::closed at the end, Errc::reset.
  Result<std::size_t> read(StreamId id, MutableByteView into, Instant now);
  // True: copied, done. False: lent, keep the bytes alive until sent(id), unlend() or a reset.
  Result<bool> write(StreamId id, ByteView bytes);
  Result<bool> sent(StreamId id) const;  // nothing is lent any more
  void unlend(StreamId id);              // takes back what has not gone out
  Result<> close_write(StreamId id);     // FIN behind everything written
  void reset(StreamId id);
  // The owner is done: resets the stream unless our side is closed. In that case what was written
  // still goes out, and the peer has `yamux_linger_max` to finish its side.
  void release(StreamId id, Instant now);

  void go_away(GoAway code);
  void ping(Instant now);
  [[nodiscard]] std::optional<Duration> rtt() const { return rtt_; }
  // Since when a ping is unanswered.
  [[nodiscard]] std::optional<Instant> ping_sent() const { return ping_sent_; }
  // Ends streams that linger too long; call every few seconds.
  void tick(Instant now);

  [[nodiscard]] std::size_t streams() const { return streams_.size(); }
  [[nodiscard]] std::size_t buffered_in() const { return buffered_in_; }
  [[nodiscard]] std::size_t buffered_out() const { return buffered_out_; }
  [[nodiscard]] bool gone_away() const { return gone_away_; }  // the peer said so

 private:
  struct Stream;

  // yamux_receive.cpp
  Result<> on_header(Frame const& frame, Instant now);
  Result<> on_ping(Frame const& frame, Instant now);
  Result<> on_go_away();
  Result<> on_stream_frame(Frame const& frame, Instant now);
  Result<Stream*> accept(Frame const& frame, Instant now);
  Result<> on_window_update(Stream& stream, std::uint32_t delta);
  Result<> on_data(Stream& stream, Frame const& frame);
  void take_payload(ByteView bytes);
  void on_payload_end();
  void on_finished(Stream& stream);
  void on_reset(Stream& stream);
  void misbehaved(Stream& stream);  // ends the stream, not the session
  void tell(Event::Kind kind, Stream const& stream);
  tl::unexpected<Error> violation(std::string what);

  // yamux.cpp
  Stream* find(StreamId id) const;
  Stream& own(StreamId id) const;  // the caller holds it, so it is there
  void drop_received(Stream& stream);
  void kill(Stream& stream);  // drops everything, sends nothing
  void reset_stream(Stream& stream);
  void erase_if_done(StreamId id);
  void return_credit(Stream& stream, Instant now);

  // yamux_send.cpp
  void queue_control(Frame const& frame);
  void mark_dirty(Stream& stream);  // has a control frame of its own to send
  void mark_ready(Stream& stream);  // has data or a FIN to send
  [[nodiscard]] std::size_t collect_control(MutableByteView out);
  [[nodiscard]] std::size_t collect_data(MutableByteView out);
  [[nodiscard]] std::size_t put_data(Stream& stream, MutableByteView out, std::size_t quantum);

  Role role_;
  Options options_;
  std::map<StreamId, std::unique_ptr<Stream>> streams_;
  std::size_t inbound_ = 0;
  std::size_t outbound_ = 0;
  std::size_t unacked_ = 0;
  StreamId next_id_;
  std::vector<Event> events_;

  // the frame being received
  std::array<std::uint8_t, Frame::bytes> header_{};
  std::size_t header_size_ = 0;
  std::uint32_t payload_left_ = 0;
  StreamId payload_to_ = 0;  // 0: nobody, dropped
  std::uint16_t payload_flags_ = 0;

  // to send
  std::deque<Frame> control_;
  std::deque<StreamId> dirty_;
  std::deque<StreamId> ready_;
  std::size_t pongs_queued_ = 0;

  std::size_t buffered_in_ = 0;
  std::size_t buffered_out_ = 0;
  std::size_t window_growth_ = 0;  // granted beyond the initial windows
  TokenBucket opens_;
  TokenBucket pings_;
  std::optional<Duration> rtt_;
  std::optional<Instant> ping_sent_;
  std::uint32_t ping_value_ = 0;
  bool said_goodbye_ = false;
  bool gone_away_ = false;
};

}  // namespace grapevine::yamux
