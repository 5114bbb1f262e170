// Base32 of RFC 4648, lower case, without padding: the digits of CIDs. Decoding is strict: one text
// for each byte string, so upper case, padding and stray bits at the end are refused.
#pragma once

#include "grapevine/base/bytes.hpp"

namespace grapevine {

[[nodiscard]] std::string to_base32(ByteView bytes);
[[nodiscard]] Result<Bytes> from_base32(std::string_view text);

}  // namespace grapevine
