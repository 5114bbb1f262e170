// ChaCha20-Poly1305 (RFC 8439) and X25519, as Noise needs them. The AEAD is libcrypto's (twice the
// speed of libsodium 1.0.18), the key agreement libsodium's.
#pragma once

#include "grapevine/base/bytes.hpp"
#include "grapevine/base/random.hpp"

#include <array>
#include <memory>

namespace grapevine {

inline constexpr std::size_t aead_tag_bytes = 16;
using AeadKey = std::array<std::uint8_t, 32>;
using AeadNonce = std::array<std::uint8_t, 12>;

// One key, one direction; keeps the expanded key between calls. Not thread-safe.
class Aead {
 public:
  explicit Aead(AeadKey const& key);
  ~Aead();
  Aead(Aead&&) noexcept;
  Aead& operator=(Aead&&) noexcept;

  // `out` holds plain.size() + 16 bytes and may start where `plain` starts (in place).
  void seal(AeadNonce const& nonce, ByteView associated, ByteView plain, MutableByteView out);
  // `sealed` = ciphertext then tag; `out` holds sealed.size() - 16 bytes and may start where
  // `sealed` starts. Errc::decrypt_failed leaves `out` unspecified.
  Result<> open(AeadNonce const& nonce, ByteView associated, ByteView sealed, MutableByteView out);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

struct X25519KeyPair {
  std::array<std::uint8_t, 32> secret{};
  std::array<std::uint8_t, 32> public_key{};

  ~X25519KeyPair();  // wipes the secret
  [[nodiscard]] static X25519KeyPair generate(Random& random);
  [[nodiscard]] static X25519KeyPair from_secret(std::span<std::uint8_t const, 32> secret);
};
// Errc::bad_key when the result is all zero (a small-order point).
[[nodiscard]] Result<std::array<std::uint8_t, 32>> x25519(
    std::span<std::uint8_t const, 32> secret, std::span<std::uint8_t const, 32> public_key);

}  // namespace grapevine
