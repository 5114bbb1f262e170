// Bytes as one big number in another radix, a zero byte at the front as a zero digit each: what
// base58 and base36 share.
#pragma once

#include "grapevine/base/bytes.hpp"

namespace grapevine {

struct Radix {
  std::string_view name;    // for errors
  std::string_view digits;  // as many as the radix
};

[[nodiscard]] std::string to_radix(Radix const& radix, ByteView bytes);
[[nodiscard]] Result<Bytes> from_radix(Radix const& radix, std::string_view text);

}  // namespace grapevine
