// Scenario: all that goes wrong in one simulated world, drawn from its seed: how many peers of what
// kind, which faults there are at all, whom they strike, when and for how long. Every number has a
// bound, and everything is over when the time for faults is.
#pragma once

#include "grapevine/world/swarm.hpp"

#include <functional>
#include <string>
#include <vector>

namespace grapevine::world {

struct Fault {
  Duration at{};  // since the world began
  std::string text;
  std::function<void(Swarm&)> strike;
};

struct Scenario {
  SwarmOptions swarm;
  Duration faults_last{};
  std::vector<Fault> faults;  // ordered by time

  // A few lines: the world, then one line a fault.
  [[nodiscard]] std::string text() const;
};

// One seed, one scenario, whatever the compiler. It may be run once: links keep state.
[[nodiscard]] Scenario draw_scenario(std::uint64_t seed);

}  // namespace grapevine::world
