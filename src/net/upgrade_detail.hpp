// The upgrade of a raw socket: /noise by multistream, the Noise handshake, then yamux, agreed on
// inside the handshake or by multistream inside Noise. One straight coroutine a side. Nothing of
// the peer is believed before its signature held. Callers set the deadline for the whole.
#pragma once

#include "grapevine/net/host.hpp"
#include "grapevine/p2p/noise.hpp"

namespace grapevine {

// What we prove ourselves with; made once a host, so that a connection costs no signature of ours.
struct Credentials {
  PeerId peer;
  X25519KeyPair static_key;
  Bytes payload;
};
[[nodiscard]] Credentials make_credentials(Identity const& identity, Random& random);

struct Upgraded {
  std::unique_ptr<Socket> socket;
  noise::Ciphers ciphers;
  PeerId peer;
  Bytes leftover;  // plaintext that came behind the negotiation
};

// Errc::wrong_peer names the peer that is there instead of `expected`.
Awaitable<Result<Upgraded>> upgrade_outbound(std::unique_ptr<Socket> socket,
                                             Credentials const& credentials, Random& random,
                                             std::optional<PeerId> expected);
Awaitable<Result<Upgraded>> upgrade_inbound(std::unique_ptr<Socket> socket,
                                            Credentials const& credentials, Random& random);

}  // namespace grapevine
