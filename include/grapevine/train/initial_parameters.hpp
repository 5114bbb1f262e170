// The parameters a run begins with: the same bits on every machine, from the seed of the run alone,
// so that peers agree on round 0 without sending it. Normal with deviation 0.02, the projections
// back into the residual stream divided by sqrt(2 layers) (Radford et al. 2019, GPT-2), norms one,
// biases zero. Pure; any thread.
#pragma once

#include "grapevine/tensor/model_config.hpp"

#include <cstdint>
#include <vector>

namespace grapevine {

[[nodiscard]] Result<std::vector<float>> initial_parameters(ModelConfig const& config,
                                                            std::uint64_t seed);

}  // namespace grapevine
