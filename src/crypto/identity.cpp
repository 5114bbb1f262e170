#include "grapevine/crypto/identity.hpp"

#include "sodium_detail.hpp"

#include <algorithm>
#include <optional>

namespace grapevine {
namespace {

// libp2p's key protobufs must be canonical, since peer ids hash them: comparing against the only
// valid prefix needs no parser on hostile bytes.
using Prefix = std::array<std::uint8_t, 4>;
constexpr Prefix public_prefix = {0x08, 0x01, 0x12, 32};
constexpr Prefix private_prefix = {0x08, 0x01, 0x12, 64};
constexpr Prefix old_private_prefix = {0x08, 0x01, 0x12, 96};  // the public key twice

bool is_message(ByteView protobuf, Prefix const& prefix) {
  return protobuf.size() == prefix.size() + prefix.back() &&
         std::equal(prefix.begin(), prefix.end(), protobuf.begin());
}

bool has_other_key_type(ByteView protobuf) {  // 0 RSA, 2 secp256k1, 3 ECDSA
  return protobuf.size() > 3 && protobuf[0] == 0x08 && protobuf[2] == 0x12 &&
         (protobuf[1] == 0 || protobuf[1] == 2 || protobuf[1] == 3);
}

// Canonical, on the curve, and in the prime-order subgroup, as every honest key is. With a small-
// or mixed-order key, verifiers of different make can disagree about one signature. It takes as
// long as verifying one, and the same few keys come with every message: those proven last are kept.
bool is_honest(ByteView raw) {
  using Raw = std::array<std::uint8_t, 32>;
  thread_local std::array<std::optional<Raw>, 256> proven;
  auto& known = proven[raw.front()];
  if (known && std::ranges::equal(*known, raw)) return true;
  if (crypto_core_ed25519_is_valid_point(raw.data()) != 1) return false;
  std::ranges::copy(raw, known.emplace().begin());
  return true;
}

}  // namespace

Result<PublicKey> PublicKey::from_raw(ByteView raw) {
  use_sodium();
  PublicKey key;
  if (raw.size() != key.raw_.size())
    return fail(Errc::bad_key, "Ed25519 public key of " + std::to_string(raw.size()) + " bytes");
  if (!is_honest(raw))
    return fail(Errc::bad_key, "not a point of the prime-order subgroup: " + to_hex(raw));
  std::copy(raw.begin(), raw.end(), key.raw_.begin());
  return key;
}

Result<PublicKey> PublicKey::from_protobuf(ByteView protobuf) {
  if (is_message(protobuf, public_prefix)) return from_raw(protobuf.subspan(public_prefix.size()));
  if (has_other_key_type(protobuf))
    return fail(Errc::unsupported, "key type " + std::to_string(protobuf[1]) + ", not Ed25519");
  return fail(Errc::bad_key, "not a canonical Ed25519 PublicKey message");
}

Bytes PublicKey::protobuf() const {
  Bytes out(public_prefix.begin(), public_prefix.end());
  append(out, raw_);
  return out;
}

bool PublicKey::verifies(ByteView message, ByteView signature) const {
  use_sodium();
  return signature.size() == crypto_sign_BYTES &&
         crypto_sign_verify_detached(signature.data(), message.data(), message.size(),
                                     raw_.data()) == 0;
}

Identity Identity::generate(Random& random) {
  use_sodium();
  std::array<std::uint8_t, 32> seed{};
  random.fill(seed);
  Identity identity = from_seed(seed);
  sodium_memzero(seed.data(), seed.size());
  return identity;
}

Identity Identity::from_seed(std::span<std::uint8_t const, 32> seed) {
  use_sodium();
  Identity identity;
  std::array<std::uint8_t, 32> raw{};
  crypto_sign_seed_keypair(raw.data(), identity.secret_.data(), seed.data());
  auto const key = PublicKey::from_raw(raw);
  ASSERT(key.has_value());
  identity.public_key_ = *key;
  return identity;
}

Result<Identity> Identity::from_protobuf(ByteView protobuf) {
  bool const old_form = is_message(protobuf, old_private_prefix);
  if (!old_form && !is_message(protobuf, private_prefix))
    return fail(Errc::bad_key, "not a canonical Ed25519 PrivateKey message");
  auto const body = protobuf.subspan(private_prefix.size());
  Identity identity = from_seed(body.first<32>());
  // Each copy of the public key must be the seed's own: signing with another leaks the seed.
  for (auto copies = body.subspan(32); !copies.empty(); copies = copies.subspan(32))
    if (!std::ranges::equal(copies.first(32), identity.public_key_.raw()))
      return fail(Errc::bad_key, "the public key does not belong to the private key");
  return identity;
}

Bytes Identity::protobuf() const {
  Bytes out(private_prefix.begin(), private_prefix.end());
  append(out, secret_);
  return out;
}

Signature Identity::sign(ByteView message) const {
  Signature signature{};
  crypto_sign_detached(signature.data(), nullptr, message.data(), message.size(), secret_.data());
  return signature;
}

Identity::~Identity() { sodium_memzero(secret_.data(), secret_.size()); }

}  // namespace grapevine
