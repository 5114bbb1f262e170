// Bytes and views of bytes; hex; big- and little-endian integers.
#pragma once

#include "grapevine/base/result.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace grapevine {

using Bytes = std::vector<std::uint8_t>;
using ByteView = std::span<std::uint8_t const>;
using MutableByteView = std::span<std::uint8_t>;

[[nodiscard]] inline ByteView as_bytes(std::string_view text) {
  return {reinterpret_cast<std::uint8_t const*>(text.data()), text.size()};
}
[[nodiscard]] inline std::string_view as_text(ByteView bytes) {
  return {reinterpret_cast<char const*>(bytes.data()), bytes.size()};
}
inline void append(Bytes& out, ByteView more) { out.insert(out.end(), more.begin(), more.end()); }

template <class UInt>
void append_be(Bytes& out, UInt value) {
  for (std::size_t i = sizeof(UInt); i-- > 0;)
    out.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
}
// `from` must hold at least sizeof(UInt) bytes.
template <class UInt>
[[nodiscard]] UInt read_be(ByteView from) {
  UInt value = 0;
  for (std::size_t i = 0; i < sizeof(UInt); ++i) value = static_cast<UInt>((value << 8) | from[i]);
  return value;
}

[[nodiscard]] std::string to_hex(ByteView bytes);             // lower case
[[nodiscard]] Result<Bytes> from_hex(std::string_view text);  // either case, even length

}  // namespace grapevine
