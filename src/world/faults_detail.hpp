// The faults of a scenario, kind by kind.
#pragma once

#include "grapevine/world/scenario.hpp"

namespace grapevine::world {

// Ordered by time; for the machines of `swarm`, whose peers are numbered from 0.
[[nodiscard]] std::vector<Fault> draw_faults(Random& random, SwarmOptions const& swarm,
                                             Duration lasting);

// Whether a kind of fault exists at all in this world: most worlds have a few of many.
[[nodiscard]] bool exists(Random& random);

}  // namespace grapevine::world
