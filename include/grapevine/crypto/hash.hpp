// SHA-256 (libcrypto: 1.8 GB/s a core where libsodium gives 0.4) and HMAC. Any thread.
#pragma once

#include "grapevine/base/bytes.hpp"

#include <array>
#include <compare>
#include <memory>
#include <string>

namespace grapevine {

struct Hash {
  std::array<std::uint8_t, 32> bytes{};

  auto operator<=>(Hash const&) const = default;
  [[nodiscard]] ByteView view() const { return bytes; }
  [[nodiscard]] bool is_zero() const { return *this == Hash{}; }
  [[nodiscard]] std::string hex() const;
  [[nodiscard]] std::string cid() const;  // CIDv1 raw sha2-256 in base32: "bafkrei…"
  [[nodiscard]] static Result<Hash> parse(std::string_view text);  // hex or that CID
  [[nodiscard]] static Result<Hash> from_bytes(ByteView bytes);    // exactly 32
};

[[nodiscard]] Hash sha256(ByteView data);
[[nodiscard]] Hash hmac_sha256(ByteView key, ByteView data);

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;
  void update(ByteView data);
  [[nodiscard]] Hash finish();  // and starts anew

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace grapevine
