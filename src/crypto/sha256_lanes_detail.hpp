// SHA-256 (FIPS 180-4) of 16 messages side by side, one in each 32-bit lane of the AVX-512
// registers: twice what the SHA instructions give, whose rounds wait for each other. For the leaves
// of Merkle trees, which are many, independent and of one size. Pure; any thread.
#pragma once

#include "grapevine/crypto/hash.hpp"

#include <span>

namespace grapevine {

inline constexpr std::size_t sha256_lanes = 16;
inline constexpr std::size_t sha256_lanes_bytes_min = 63;  // of a chunk

[[nodiscard]] bool sha256_lanes_usable();  // on this machine

// hashes[i] = SHA-256(prefix ‖ chunks[i]) of at most 16 chunks, all of one size. A call costs the
// same however many there are.
void sha256_in_lanes(std::uint8_t prefix, std::span<ByteView const> chunks, std::span<Hash> hashes);

}  // namespace grapevine
