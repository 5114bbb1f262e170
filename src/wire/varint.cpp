#include "grapevine/wire/varint.hpp"

#include "grapevine/base/assert.hpp"
#include "grapevine/base/limits.hpp"

namespace grapevine {

Result<Varint> decode_varint(ByteView bytes) {
  Varint varint;
  for (auto const byte : bytes.first(std::min(bytes.size(), limits::varint_bytes_max))) {
    varint.value |= static_cast<std::uint64_t>(byte & 0x7f) << (7 * varint.size);
    ++varint.size;
    if ((byte & 0x80) != 0) continue;
    if (byte == 0 && varint.size > 1) return fail(Errc::malformed, "varint is not minimal");
    return varint;
  }
  if (varint.size == limits::varint_bytes_max) return fail(Errc::malformed, "varint over 63 bits");
  return fail(Errc::truncated, "varint");
}

void append_varint(Bytes& out, std::uint64_t value) {
  ASSERT(value <= varint_max);
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<std::uint8_t>(value | 0x80));
  out.push_back(static_cast<std::uint8_t>(value));
}

Bytes encode_varint(std::uint64_t value) {
  Bytes out;
  append_varint(out, value);
  return out;
}

}  // namespace grapevine
