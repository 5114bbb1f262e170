// Amounts of bytes as people write them. Pure.
#pragma once

#include "grapevine/base/result.hpp"

#include <cstdint>
#include <string_view>

namespace grapevine {

// "200GB", "1.5 TB", "700MiB", "4096B". Errc::usage says what would do; also for one above 2^60.
[[nodiscard]] Result<std::uint64_t> parse_bytes(std::string_view text);
// Bytes a second: "500kB", "2MB/s", "4Mbit". A lone b could mean either, and is refused.
[[nodiscard]] Result<std::uint64_t> parse_byte_rate(std::string_view text);

}  // namespace grapevine
