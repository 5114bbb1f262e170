#include "grapevine/train/initial_parameters.hpp"

#include "grapevine/base/random.hpp"

#include <algorithm>
#include <cmath>
#include <span>

namespace grapevine {
namespace {

constexpr double deviation = 0.02;

// The sum of twelve uniform 16-bit numbers: mean 0 and deviation 1 after scaling, within six
// deviations. Integer sums are exact where the logarithm of Box and Muller is not.
double normal(Random& random) {
  std::int64_t sum = 0;
  for (int word = 0; word < 3; ++word) {
    for (std::uint64_t bits = random.next(), i = 0; i < 4; ++i, bits >>= 16)
      sum += static_cast<std::int64_t>(bits & 0xffff);
  }
  return static_cast<double>(2 * sum - 12 * 0xffff) * 0x1p-17;
}

double deviation_of(TensorSpec const& tensor, ModelConfig const& config) {
  bool const back =
      tensor.name.ends_with(".o_proj.weight") || tensor.name.ends_with(".down_proj.weight");
  return back ? deviation / std::sqrt(2.0 * config.layers) : deviation;
}

}  // namespace

Result<std::vector<float>> initial_parameters(ModelConfig const& config, std::uint64_t seed) {
  TRY_ASSIGN(auto const layout, model_layout(config));
  std::vector<float> parameters(layout.elements());
  SeededRandom random(seed);
  for (auto const& tensor : layout.tensors()) {
    auto const values = std::span(parameters).subspan(tensor.offset, tensor.elements);
    if (tensor.shape.size() >= 2) {
      double const scale = deviation_of(tensor, config);
      for (auto& value : values) value = static_cast<float>(normal(random) * scale);
    } else if (tensor.name.ends_with("norm.weight")) {
      std::ranges::fill(values, 1.0F);
    }
  }
  return parameters;
}

}  // namespace grapevine
