// Text that came from a peer and will end up in terminals, logs and JSON.
#pragma once

#include <string_view>

namespace grapevine {

// Well-formed UTF-8 (RFC 3629: no surrogates, no overlong forms) without control characters.
[[nodiscard]] bool is_printable_utf8(std::string_view text);

}  // namespace grapevine
