// Multibase: text whose first character names its base (multiformats/multibase). Only the bases
// that libp2p uses: 'b' base32, 'k' base36, 'z' base58btc, 'u' base64url, lower case and unpadded.
// And base64 of RFC 4648 with padding, for JSON. Decoding is strict: one text for each byte string.
// Pure; any thread.
#pragma once

#include "grapevine/base/bytes.hpp"

namespace grapevine {

enum class Multibase : char { base32 = 'b', base36 = 'k', base58 = 'z', base64url = 'u' };

[[nodiscard]] std::string to_multibase(Multibase base, ByteView bytes);
[[nodiscard]] Result<Bytes> from_multibase(std::string_view text);

[[nodiscard]] std::string to_base64(ByteView bytes);
[[nodiscard]] Result<Bytes> from_base64(std::string_view text);

}  // namespace grapevine
