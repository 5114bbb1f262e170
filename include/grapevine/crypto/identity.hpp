// Identity: the Ed25519 key pair a peer is known by. PublicKey verifies; both speak the libp2p key
// protobuf. Small-order and non-canonical public keys are refused. Secrets are wiped on
// destruction.
#pragma once

#include "grapevine/base/bytes.hpp"
#include "grapevine/base/random.hpp"

#include <array>

namespace grapevine {

using Signature = std::array<std::uint8_t, 64>;

class PublicKey {
 public:
  PublicKey() = default;
  [[nodiscard]] static Result<PublicKey> from_raw(ByteView raw);  // 32 bytes
  // The canonical 36-byte PublicKey protobuf of an Ed25519 key; other key types: Errc::unsupported.
  [[nodiscard]] static Result<PublicKey> from_protobuf(ByteView protobuf);
  [[nodiscard]] std::array<std::uint8_t, 32> const& raw() const { return raw_; }
  [[nodiscard]] Bytes protobuf() const;
  [[nodiscard]] bool verifies(ByteView message, ByteView signature) const;
  auto operator<=>(PublicKey const&) const = default;

 private:
  std::array<std::uint8_t, 32> raw_{};
};

class Identity {
 public:
  [[nodiscard]] static Identity generate(Random& random);
  [[nodiscard]] static Identity from_seed(std::span<std::uint8_t const, 32> seed);
  // PrivateKey protobuf: the 68-byte form, and the old 96-byte body on input. Errc::bad_key.
  [[nodiscard]] static Result<Identity> from_protobuf(ByteView protobuf);
  [[nodiscard]] Bytes protobuf() const;
  [[nodiscard]] PublicKey const& public_key() const { return public_key_; }
  [[nodiscard]] Signature sign(ByteView message) const;

  Identity(Identity const&) = default;
  Identity& operator=(Identity const&) = default;
  ~Identity();

 private:
  Identity() = default;
  std::array<std::uint8_t, 64> secret_{};  // seed, then public key (libsodium's layout)
  PublicKey public_key_;
};

}  // namespace grapevine
