#include "grapevine/mix/correction.hpp"

#include "grapevine/base/assert.hpp"

namespace grapevine {

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
