// What an exchange would have changed, for a peer that closed the round without it while its
// partner was already bound: the difference (dz, dv) between the state with the exchange and the
// one without. Added later, it brings the sum over the swarm to where the exchange would have
// brought it. Exact in real arithmetic, because an outer step is linear in (z, v):
//   each later step:  dv <- mu dv,  dz <- dz - lr mu dv     (nesterov; heavy ball: lr for lr mu)
// Pure; any thread.
#pragma once

#include "grapevine/mix/outer_optimizer.hpp"

#include <cstdint>
#include <span>

namespace grapevine {

// The correction after `steps` further outer steps of this peer, whatever their gradients.
void age_correction(OuterSettings const& settings, std::uint64_t steps, std::span<float> parameters,
                    std::span<float> momentum);

}  // namespace grapevine
