// Signed peer records: "these are my addresses", in libp2p's own envelope, so that others can pass
// them on. Emitted with the domain that go, js and py use; that of the RFC text is read too. Pure;
// any thread. (libp2p RFC 0002 and 0003)
#pragma once

#include "grapevine/base/bytes.hpp"
#include "grapevine/crypto/identity.hpp"
#include "grapevine/wire/multiaddr.hpp"

#include <span>

namespace grapevine {

struct PeerRecord {
  PeerId peer;  // also who signed
  std::uint64_t sequence = 0;
  std::vector<Multiaddr> addresses;  // at most limits::peer_record_addresses_max
};

// `addresses`: the first limits::peer_record_addresses_max are used.
[[nodiscard]] Bytes sign_peer_record(std::uint64_t sequence, std::span<Multiaddr const> addresses,
                                     Identity const& signer);
// Errc::oversize, truncated, malformed, bad_key, unsupported, bad_signature; Errc::wrong_peer when
// the record speaks of somebody else than its signer. Addresses that do not parse are left out.
// Whether it is newer than one already known, and whom it may come from, is the caller's to judge.
[[nodiscard]] Result<PeerRecord> verify_peer_record(ByteView envelope);

}  // namespace grapevine
