// Comparing secrets: how long it takes tells nothing about where they differ.
#pragma once

#include "grapevine/base/bytes.hpp"

namespace grapevine {

// Whether both are the same bytes. That their lengths differ is no secret.
[[nodiscard]] bool same_secret(ByteView a, ByteView b);

}  // namespace grapevine
