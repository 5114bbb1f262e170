#include "grapevine/round/norm_bound.hpp"

#include <algorithm>

namespace grapevine {
namespace {

constexpr double times_the_median = 10;

double lower_median(std::vector<double>& values) {
  auto const middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

double per_token(GradientClaim const& claim) {
  return claim.norm / static_cast<double>(claim.tokens);
}

// Leaves out what is too large beside those that stay; true when something was.
bool leave_out(std::span<GradientClaim const> claims, std::vector<bool>& stays) {
  std::vector<double> norms, rates;
  for (std::size_t i = 0; i < claims.size(); ++i) {
    if (!stays[i]) continue;
    norms.push_back(claims[i].norm);
    rates.push_back(per_token(claims[i]));
  }
  double const norm = lower_median(norms), rate = lower_median(rates);
  bool changed = false;
  for (std::size_t i = 0; i < claims.size(); ++i) {
    double const usual = std::max(norm, static_cast<double>(claims[i].tokens) * rate);
    if (!stays[i] || claims[i].norm <= times_the_median * usual) continue;
    stays[i] = false;
    changed = true;
  }
  return changed;
}

}  // namespace

// The smallest always stays, so it ends.
std::vector<bool> within_norm_bound(std::span<GradientClaim const> claims) {
  std::vector<bool> stays(claims.size(), true);
  while (!claims.empty() && leave_out(claims, stays)) {
  }
  return stays;
}

}  // namespace grapevine
