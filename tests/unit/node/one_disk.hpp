// A machine of the simulated world that runs nothing: its disk is what the stores are tested on,
// and every step of it can be the one at which the power goes.
#pragma once

#include "grapevine/sim/world.hpp"

#include <doctest/doctest.h>

#include <functional>

namespace grapevine::test {

struct OneDisk {
  explicit OneDisk(std::uint64_t seed = 1) : world({.seed = seed}) {
    world.add_node([](Doors) -> std::unique_ptr<sim::Program> { return nullptr; });
  }
  [[nodiscard]] Storage& storage() { return world.doors(0).storage; }
  void lose_power() { world.restart(0); }

  sim::World world;
};

// Cuts the power at every step that `act` takes on the disk, in several worlds. `look` is called
// afterwards with the storage that is left, and whether `act` had said that it was done.
inline void cut_at_every_step(std::function<void(Storage&)> const& prepare,
                              std::function<bool(Storage&)> const& act,
                              std::function<void(Storage&, bool)> const& look) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    bool reached = true;
    for (std::uint64_t k = 1; reached; ++k) {
      CAPTURE(seed);
      CAPTURE(k);
      OneDisk disk(seed);
      prepare(disk.storage());
      auto const step = disk.world.disk_steps(0) + k;
      disk.world.cut_power_at_disk_step(0, step);
      bool const done = act(disk.storage());
      reached = disk.world.disk_steps(0) >= step;
      if (!reached) break;  // it had fewer steps
      disk.lose_power();
      look(disk.storage(), done);
    }
  }
}

}  // namespace grapevine::test
