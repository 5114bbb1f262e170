#include "grapevine/mix/average.hpp"

#include "grapevine/base/assert.hpp"

#include <array>
#include <bit>
#include <cstdint>

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

// One sum would make every addition wait for the one before.
double squared_norm(std::span<float const> values) {
  std::array<double, norm_sums> sums{};
  auto const add = [&sums](std::span<float const> some) {
    for (std::size_t i = 0; i < some.size(); ++i)
      sums[i] += static_cast<double>(some[i]) * static_cast<double>(some[i]);
  };
  std::size_t const whole = values.size() - values.size() % norm_sums;
  for (std::size_t i = 0; i < whole; i += norm_sums) add(values.subspan(i).first<norm_sums>());
  add(values.subspan(whole));
  double sum = 0;
  for (double const part : sums) sum += part;
  return sum;
}

// The exponent of NaN and Inf is all ones. On integers, so that it runs as wide as the machine is.
bool all_finite(std::span<float const> values) {
  constexpr std::uint32_t exponent = 0x7f800000;
  std::uint32_t found = 0;
  for (float const value : values)
    found |=
        static_cast<std::uint32_t>((std::bit_cast<std::uint32_t>(value) & exponent) == exponent);
  return found == 0;
}

}  // namespace grapevine
