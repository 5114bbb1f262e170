// A swarm that nothing must keep from its last round.
#pragma once

#include "grapevine/world/swarm.hpp"

#include <doctest/doctest.h>

namespace grapevine::test {

inline void run_to_the_end(world::Swarm& swarm, std::uint64_t rounds) {
  Instant const begin = swarm.world.now();
  REQUIRE(swarm.world.run_until(begin + 30min, [&] { return swarm.all_ended(); }));
  for (auto const& [machine, ending] : swarm.endings) {
    CAPTURE(machine);
    CHECK(ending.error.empty());
    CHECK(ending.round == rounds);
  }
}

}  // namespace grapevine::test
