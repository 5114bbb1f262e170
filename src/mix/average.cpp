#include "grapevine/mix/average.hpp"

#include "grapevine/base/assert.hpp"

#include <cmath>

namespace grapevine {

void weighted_average(std::span<WeightedInput const> inputs, std::span<float> out) {
  double total = 0;
  for (auto const& input : inputs) {
    ASSERT(input.values.size() == out.size());
    ASSERT(input.weight >= 0);
    total += input.weight;
  }
  ASSERT(total > 0);
  bool first = true;
  for (auto const& input : inputs) {
    auto const weight = static_cast<float>(input.weight / total);
    if (first) {
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = weight * input.values[i];
    } else {
      for (std::size_t i = 0; i < out.size(); ++i) out[i] += weight * input.values[i];
    }
    first = false;
  }
}

void pair_average(std::span<float const> low, std::span<float const> high, std::span<float> out) {
  ASSERT(low.size() == out.size());
  ASSERT(high.size() == out.size());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = (low[i] + high[i]) * 0.5F;
}

double squared_norm(std::span<float const> values) {
  double sum = 0;
  for (float const value : values) sum += static_cast<double>(value) * static_cast<double>(value);
  return sum;
}

bool all_finite(std::span<float const> values) {
  // x - x is 0 for every finite x and NaN otherwise, so one sum tells, without a branch an element.
  float sum = 0;
  for (float const value : values) sum += value - value;
  return sum == 0;
}

}  // namespace grapevine
