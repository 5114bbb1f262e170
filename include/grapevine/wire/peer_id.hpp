// PeerId: the multihash of a peer's public key protobuf (libp2p peer-ids spec). Ordered by bytes,
// so that "canonical order" means the same on every machine. A value; any thread.
#pragma once

#include "grapevine/base/bytes.hpp"

#include <algorithm>
#include <array>
#include <compare>
#include <string>
#include <string_view>

namespace grapevine {

class PeerId {
 public:
  PeerId() = default;  // empty: nobody
  // A multihash: identity (up to 42 bytes) or sha2-256; anything else is Errc::malformed.
  [[nodiscard]] static Result<PeerId> from_bytes(ByteView multihash);
  [[nodiscard]] static PeerId from_ed25519(std::span<std::uint8_t const, 32> public_key);
  // base58btc ("12D3Koo…", "Qm…") or a CIDv1 with codec libp2p-key in base32 or base36.
  [[nodiscard]] static Result<PeerId> parse(std::string_view text);

  [[nodiscard]] ByteView bytes() const { return {bytes_.data(), size_}; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::string text() const;   // base58btc
  [[nodiscard]] std::string cid() const;    // CIDv1, base32
  [[nodiscard]] std::string brief() const;  // the last 6 characters of text(), for tables and logs
  // The Ed25519 key inside an identity-hash id, if it holds one.
  [[nodiscard]] Result<std::array<std::uint8_t, 32>> ed25519() const;

  friend auto operator<=>(PeerId const& a, PeerId const& b) {
    auto const x = a.bytes(), y = b.bytes();
    return std::lexicographical_compare_three_way(x.begin(), x.end(), y.begin(), y.end());
  }
  friend bool operator==(PeerId const& a, PeerId const& b) { return (a <=> b) == 0; }

 private:
  std::array<std::uint8_t, 44> bytes_{};
  std::uint8_t size_ = 0;
};

}  // namespace grapevine
