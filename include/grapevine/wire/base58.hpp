// Base58 with the Bitcoin alphabet, the digits of peer ids. Quadratic in the length, so both ways
// are bounded by limits::base58_text_max. Pure; any thread.
#pragma once

#include "grapevine/base/bytes.hpp"

namespace grapevine {

[[nodiscard]] std::string to_base58(ByteView bytes);
[[nodiscard]] Result<Bytes> from_base58(std::string_view text);

}  // namespace grapevine
