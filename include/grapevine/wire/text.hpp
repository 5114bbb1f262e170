// Text that came from a peer and will end up in terminals, logs and JSON.
#pragma once

#include <string>
#include <string_view>

namespace grapevine {

// Well-formed UTF-8 (RFC 3629: no surrogates, no overlong forms) without control characters.
[[nodiscard]] bool is_printable_utf8(std::string_view text);

// The beginning of `text` in at most `bytes_max` bytes, no character cut in two; a byte that is no
// part of printable text becomes a question mark.
[[nodiscard]] std::string printable_utf8(std::string_view text, std::size_t bytes_max);

}  // namespace grapevine
