// Unsigned varints of multiformats: little-endian base 128, at most 9 bytes (63 bits), minimal form
// only. Pure functions; any thread. A value cut short is Errc::truncated, so that a stream reader
// knows to wait for more; everything else is Errc::malformed.
// (github.com/multiformats/unsigned-varint)
#pragma once

#include "grapevine/base/bytes.hpp"

namespace grapevine {

inline constexpr std::uint64_t varint_max = (1ULL << 63) - 1;

struct Varint {
  std::uint64_t value = 0;
  std::size_t size = 0;  // bytes it took
};
[[nodiscard]] Result<Varint> decode_varint(ByteView bytes);
void append_varint(Bytes& out, std::uint64_t value);  // value <= varint_max
[[nodiscard]] Bytes encode_varint(std::uint64_t value);

}  // namespace grapevine
