#include "grapevine/mix/pair_correction.hpp"

#include "grapevine/base/assert.hpp"

namespace grapevine {

void pair_correction(OuterSettings const& settings, PairInputs const& inputs,
                     std::span<float> parameters, std::span<float> momentum) {
  ASSERT(inputs.parameters.size() == parameters.size());
  ASSERT(inputs.mean_parameters.size() == parameters.size());
  ASSERT(inputs.gradient.size() == parameters.size());
  ASSERT(inputs.mean_gradient.size() == parameters.size());
  ASSERT(momentum.size() == parameters.size());
  float const rate = settings.nesterov ? settings.lr * (1 + settings.momentum) : settings.lr;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    momentum[i] = inputs.mean_gradient[i] - inputs.gradient[i];
    parameters[i] = (inputs.mean_parameters[i] - inputs.parameters[i]) - rate * momentum[i];
  }
}

void age_correction(OuterSettings const& settings, std::uint64_t steps, std::span<float> parameters,
                    std::span<float> momentum) {
  ASSERT(momentum.size() == parameters.size());
  double const mu = static_cast<double>(settings.momentum);
  double decay = 1;  // mu^steps
  double sum = 0;    // mu + mu^2 + … + mu^steps
  constexpr double negligible = 1e-30;
  for (std::uint64_t step = 0; step < steps && decay > negligible; ++step) {
    decay *= mu;
    sum += decay;
  }
  double const rate = static_cast<double>(settings.lr) * (settings.nesterov ? mu : 1.0);
  auto const drift = static_cast<float>(rate * sum);
  auto const kept = static_cast<float>(decay);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    parameters[i] -= drift * momentum[i];
    momentum[i] *= kept;
  }
}

}  // namespace grapevine
