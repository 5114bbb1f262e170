// The demo's data: one person's text becomes a folder for each peer, all different, as if each had
// brought their own. Files stay whole where there are enough of them.
#pragma once

#include "grapevine/train/dataset.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace grapevine {

// Writes INTO/share-1 … and returns their paths. Errc::data_missing when there is nothing to share;
// Errc::data_too_short when a share holds less than `batch` sequences of `context` tokens and a
// held-out part need.
[[nodiscard]] Result<std::vector<std::string>> share_data(DatasetOptions const& from,
                                                          std::string const& into,
                                                          std::uint32_t shares);

}  // namespace grapevine
