// What this machine can do at best, measured now: the yardsticks of the benches. Each takes a few
// hundred milliseconds; blocks its thread.
#pragma once

#include "grapevine/base/result.hpp"

namespace grapevine {

[[nodiscard]] double memory_copy_bytes_per_s();  // memcpy on one core, large blocks
[[nodiscard]] Result<double>
loopback_bytes_per_s();  // one TCP connection, two threads, nothing else

}  // namespace grapevine
