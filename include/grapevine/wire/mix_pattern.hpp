// MixPattern: how the peers of a run exchange what they learned.
#pragma once

#include <cstdint>
#include <string_view>

namespace grapevine {

enum class MixPattern : std::uint8_t {
  none,    // everyone alone
  pair,    // two peers, both or neither, equal weights
  global,  // everyone, a reducer for each shard, weighted by tokens
};
[[nodiscard]] std::string_view to_string(MixPattern pattern);

}  // namespace grapevine
