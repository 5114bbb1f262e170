// What a pair exchange would have changed, for a peer that closed the round alone while its partner
// was already bound: added later it brings the sum over the swarm to where the exchange would have
// brought it. Exact in real arithmetic, because an outer step is linear in (z, v):
//   dz = (x - z) - lr (1 + mu) (Dbar - D),   dv = Dbar - D            (nesterov)
//   each later step:  dv <- mu dv,  dz <- dz - lr mu dv
// and for the heavy ball lr in place of lr (1 + mu) and of lr mu. Pure; any thread.
#pragma once

#include "grapevine/mix/outer_optimizer.hpp"

#include <cstdint>
#include <span>

namespace grapevine {

struct PairInputs {
  std::span<float const> parameters;       // z, this peer's own
  std::span<float const> mean_parameters;  // x, of the pair
  std::span<float const> gradient;         // D, this peer's own
  std::span<float const> mean_gradient;    // Dbar, of the pair
};

void pair_correction(OuterSettings const& settings, PairInputs const& inputs,
                     std::span<float> parameters, std::span<float> momentum);

// The same correction after `steps` further outer steps of this peer, whatever their gradients.
void age_correction(OuterSettings const& settings, std::uint64_t steps, std::span<float> parameters,
                    std::span<float> momentum);

}  // namespace grapevine
