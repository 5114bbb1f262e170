// Host: a libp2p peer on the wire. It listens, dials, upgrades (multistream, Noise, yamux), answers
// identify and ping, and hands streams of registered protocols to their handlers. It keeps the
// address book, the limits and the dial back-off. Loop thread only. Start with start(), end with
// stop().
#pragma once

#include "grapevine/crypto/identity.hpp"
#include "grapevine/runtime/doors.hpp"
#include "grapevine/wire/multiaddr.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace grapevine {

enum class Direction : std::uint8_t { inbound, outbound };

struct HostOptions {
  std::vector<Multiaddr> listen;
  std::uint16_t port_wanted = 0;    // of a listen address with port 0, where it is free
  std::vector<Multiaddr> announce;  // replaces the listen addresses in what we tell others
  std::string agent = "grapevine/0.1.0";
  std::string protocol = "grapevine/1";
  bool perf = false;            // serve /perf/1.0.0
  bool loopback_exempt = true;  // per-IP limits do not count loopback
};

struct IdentifyInfo {
  std::string agent;
  std::string protocol;
  std::vector<Multiaddr> listen;
  std::optional<Multiaddr> observed;
  std::vector<std::string> protocols;
};

struct PeerConnection {
  PeerId peer;
  Multiaddr address;  // as dialled, or as seen from the listener
  Direction direction = Direction::inbound;
  Instant since{};
  double rtt_ms = 0;           // 0: not measured yet
  std::uint64_t bytes_in = 0;  // of the raw socket
  std::uint64_t bytes_out = 0;
  std::size_t streams = 0;
};

// A negotiated stream and whose it is. Destroying the stream resets it unless our side closed it:
// then what was written still goes out, and the peer gets a while to finish its side.
struct PeerStream {
  PeerId peer;
  std::string protocol;
  std::unique_ptr<ByteStream> stream;
};

class Host {
 public:
  Host(Doors doors, Identity identity, HostOptions options);
  ~Host();
  Host(Host const&) = delete;

  // Binds every listen address; Errc::port_in_use names the first that fails.
  Result<> start();
  // Goodbye to every peer, then waits for every task. Afterwards nothing of this host runs.
  Awaitable<> stop();

  [[nodiscard]] PeerId const& id() const;
  [[nodiscard]] Identity const& identity() const;
  [[nodiscard]] std::uint16_t port() const;  // of the first listener; 0 while there is none
  [[nodiscard]] std::vector<Multiaddr> addresses()
      const;  // announced or listened on, without /p2p/

  // A coroutine per inbound stream; it runs in the host's task group. Replaces a previous handler.
  using StreamHandler = std::function<Awaitable<>(PeerStream)>;
  void handle(std::string protocol, StreamHandler handler);
  void unhandle(std::string_view protocol);

  Awaitable<Result<Multiaddr>> listen(Multiaddr at);  // the address with the real port
  // Connects (or finds the connection) and returns who is there. A /p2p/ in the address must match:
  // Errc::wrong_peer names the one found. Errc::refused is told from Errc::unreachable.
  Awaitable<Result<PeerId>> dial(Multiaddr address);
  // Dials through the address book when not connected.
  Awaitable<Result<PeerId>> connect(PeerId peer);
  // The first of `protocols` that the peer speaks; connects when necessary.
  Awaitable<Result<PeerStream>> open_stream(PeerId peer, std::vector<std::string> protocols);
  void disconnect(PeerId const& peer);  // closes all its connections

  [[nodiscard]] bool connected(PeerId const& peer) const;
  [[nodiscard]] std::vector<PeerConnection> connections() const;
  [[nodiscard]] std::vector<PeerId> peers() const;  // connected, each once, ordered
  [[nodiscard]] IdentifyInfo const* identified(PeerId const& peer) const;
  Awaitable<Result<IdentifyInfo>> identify(PeerId peer);                          // asks now
  Awaitable<Result<std::vector<double>>> ping(PeerId peer, std::uint32_t count);  // rtt in ms
  struct PerfResult {
    double upload_s = 0;
    double download_s = 0;
  };
  Awaitable<Result<PerfResult>> perf(PeerId peer, std::uint64_t upload, std::uint64_t download);

  // The address book: bounded, least recently useful out first.
  void remember(PeerId const& peer, std::vector<Multiaddr> addresses);
  [[nodiscard]] std::vector<Multiaddr> known_addresses(PeerId const& peer) const;

  struct Event {
    enum Kind : std::uint8_t { connected, disconnected, identified } kind;
    PeerId peer;
    Direction direction;
    Multiaddr address;
    std::string reason;  // of a disconnect
  };
  // `connected` for the first connection of a peer, `disconnected` for the last. Called from the
  // loop, never from inside a call to the host; must not block.
  void on_event(std::function<void(Event const&)> listener);  // adds a listener

  struct Counters {
    std::uint64_t bytes_in = 0, bytes_out = 0;
    std::uint64_t dials_failed = 0, inbound_refused = 0;
    std::size_t connections = 0, handshakes = 0;
  };
  [[nodiscard]] Counters counters() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace grapevine
