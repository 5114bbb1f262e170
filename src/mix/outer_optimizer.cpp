#include "grapevine/mix/outer_optimizer.hpp"

#include "grapevine/base/assert.hpp"

namespace grapevine {

void outer_step(OuterSettings const& settings, std::span<float const> gradient,
                std::span<float> momentum, std::span<float> parameters) {
  ASSERT(gradient.size() == momentum.size());
  ASSERT(gradient.size() == parameters.size());
  float const mu = settings.momentum;
  float const lr = settings.lr;
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    momentum[i] = mu * momentum[i] + gradient[i];
    float const step = settings.nesterov ? gradient[i] + mu * momentum[i] : momentum[i];
    parameters[i] -= lr * step;
  }
}

}  // namespace grapevine
