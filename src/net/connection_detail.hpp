// Connection: an upgraded socket with its Noise ciphers and its yamux session. run() is reader,
// writer and watch side by side; it ends when one of them does. Owned by the Host, loop thread.
// Back-pressure: the writer takes frames only when the socket took the last ones, the reader stops
// while the session's control queue is full, streams wait for their window.
//
//   socket -> [read buffer: decrypted in place] -> Session -> stream buffers -> handlers
//   handlers -> (lent bytes) -> Session -> [write buffer: encrypted in place] -> socket
#pragma once

#include "grapevine/base/limits.hpp"
#include "mux_stream_detail.hpp"
#include "upgrade_detail.hpp"

#include <functional>

namespace grapevine {

class Connection {
 public:
  struct Info {
    std::uint64_t id = 0;
    PeerId peer;
    Multiaddr address;
    Direction direction = Direction::inbound;
    Instant since{};
  };
  using OnStream = std::function<void(std::unique_ptr<MuxStream>)>;

  Connection(Clock& clock, Upgraded upgraded, Info info, OnStream on_stream);
  ~Connection();
  Connection(Connection const&) = delete;

  // Until the connection is over; returns why.
  Awaitable<Error> run();
  // Says goodbye, gives it limits::goodbye_grace to get out, then ends run().
  void close(Error reason);

  // Errc::limit_exceeded: try again when the peer answered; Errc::closed: not on this one.
  Result<std::unique_ptr<MuxStream>> open();
  // Is anybody there still? Asked when the peer turns up anew.
  void probe();
  [[nodiscard]] bool usable() const { return !closing_ && !session_.gone_away(); }

  [[nodiscard]] Info const& info() const { return info_; }
  [[nodiscard]] PeerConnection snapshot() const;

 private:
  friend class MuxStream;
  Awaitable<> read_loop();
  Awaitable<> write_loop();
  Awaitable<> watch_loop();
  Awaitable<> close_loop();
  Result<> take_frames();
  void make_room();
  std::size_t fill_output();
  void deliver_events();
  void output_changed();
  void fail_with(Error reason);
  [[nodiscard]] bool silent_since_ping(Instant now);

  Clock& clock_;
  std::unique_ptr<Socket> socket_;
  noise::Ciphers ciphers_;
  Info info_;
  OnStream on_stream_;
  yamux::Session session_;
  std::map<yamux::StreamId, MuxStream*> streams_;
  std::size_t unnegotiated_ = 0;

  Bytes input_;
  std::size_t input_begin_ = 0;
  std::size_t input_end_ = 0;
  Bytes output_;
  Gate output_ready_;
  Gate drained_;
  Gate closing_gate_;
  bool closing_ = false;
  std::optional<Error> reason_;  // the first one counts

  std::uint64_t bytes_in_ = 0;
  std::uint64_t bytes_out_ = 0;
  std::optional<Instant> writing_since_;
  Instant ping_last_{};
  std::uint64_t ping_bytes_in_ = 0;  // counters when it was sent, or at the last sign of life
  std::uint64_t ping_bytes_out_ = 0;
};

}  // namespace grapevine
