// The arithmetic of mixing. Every function is elementwise in fp32, in the order its inputs are
// given, without fused contraction: the same inputs give the same bits on every machine, so that
// peers can check each other's averages by hash. Pure; any thread.
#pragma once

#include <cstddef>
#include <span>

namespace grapevine {

struct WeightedInput {
  std::span<float const> values;
  double weight = 0;  // e.g. tokens; the sum over the inputs must be positive
};

// out = sum_i (w_i / sum w) x_i, inputs in canonical order (by peer id). All of out.size().
void weighted_average(std::span<WeightedInput const> inputs, std::span<float> out);

// out = (low + high) / 2, `low` being the values of the peer with the lower id.
void pair_average(std::span<float const> low, std::span<float const> high, std::span<float> out);

// In double: value i goes to sum i mod norm_sums, then these are added in order.
inline constexpr std::size_t norm_sums = 8;
[[nodiscard]] double squared_norm(std::span<float const> values);
[[nodiscard]] bool all_finite(std::span<float const> values);

}  // namespace grapevine
