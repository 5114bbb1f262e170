// Which outer gradients are far larger than the others': one such gradient, whoever's, would move
// the model as far as it likes. Judged by each other alone, so that all who see the same list of
// inputs leave out the same. Pure.
//
// With m the lower median of the norms and p that of the norms a token, a gradient of `tokens` may
// have the norm 10 max(m, tokens p): who trained for longer may have come further.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace grapevine {

struct GradientClaim {
  std::uint64_t tokens = 0;  // at least 1
  double norm = 0;           // L2, finite
};

// By place: whether it stays. What stays would stay among those that do.
[[nodiscard]] std::vector<bool> within_norm_bound(std::span<GradientClaim const> claims);

}  // namespace grapevine
