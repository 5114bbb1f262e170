// Multiaddr: a self-describing address, kept in its binary form (multiformats/multiaddr). Parsing
// is total and bounded; an address with an unknown code is an Error of its own, and a list that
// holds one drops it and keeps the rest. A value; any thread.
#pragma once

#include "grapevine/base/bytes.hpp"
#include "grapevine/base/endpoint.hpp"
#include "grapevine/wire/peer_id.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace grapevine {

class Multiaddr {
 public:
  enum Code : std::uint32_t {
    ip4 = 4,
    tcp = 6,
    ip6 = 41,
    ip6zone = 42,
    ipcidr = 43,
    dns = 53,
    dns4 = 54,
    dns6 = 55,
    dnsaddr = 56,
    udp = 273,
    webrtc_direct = 280,
    webrtc = 281,
    p2p_circuit = 290,
    unix_path = 400,
    p2p = 421,
    tls = 448,
    sni = 449,
    noise = 454,
    quic = 460,
    quic_v1 = 461,
    webtransport = 465,
    certhash = 466,
    ws = 477,
    wss = 478,
    http = 480,
    memory = 777,
  };
  struct Component {
    Code code;
    ByteView value;  // without its length prefix; points into the Multiaddr
  };

  Multiaddr() = default;
  [[nodiscard]] static Result<Multiaddr> parse(std::string_view text);
  [[nodiscard]] static Result<Multiaddr> from_bytes(ByteView bytes);
  [[nodiscard]] static Multiaddr tcp_address(Endpoint endpoint);

  [[nodiscard]] ByteView bytes() const { return bytes_; }
  [[nodiscard]] std::string text() const;
  [[nodiscard]] std::vector<Component> components() const;
  [[nodiscard]] bool empty() const { return bytes_.empty(); }

  // The /p2p/ component the address ends in, if any: a claim about who is there. And the address
  // without it.
  [[nodiscard]] std::optional<PeerId> peer() const;
  [[nodiscard]] Multiaddr without_peer() const;
  [[nodiscard]] Multiaddr with_peer(PeerId const& peer) const;  // replaces the one it has
  [[nodiscard]] bool is_circuit() const;
  // What to dial for plain TCP: an IP endpoint, or a host name to resolve. Nothing for other kinds.
  [[nodiscard]] std::optional<Endpoint> tcp_endpoint() const;  // /ip4|ip6/…/tcp/…
  struct TcpName {
    std::string host;
    std::uint16_t port;
    Code family;  // dns, dns4 or dns6
  };
  [[nodiscard]] std::optional<TcpName> tcp_name() const;

  auto operator<=>(Multiaddr const&) const = default;

 private:
  Bytes bytes_;
};

}  // namespace grapevine
