// One seed of the simulated world with faults, from the first event to the verdict.
//
// Safety: while faults strike, checkers look after every event at what every honest peer shows.
// Liveness: then everything is mended, who is hostile leaves, who is down is started, and within a
// bounded virtual time all peers must be connected, two rounds further in one state (where the run
// has one) that was mixed; or, if the run has an end, at it: those who come late may find nobody
// there any more. Then they stop, and their ledgers are compared.
#pragma once

#include "grapevine/world/scenario.hpp"

#include <cstdint>
#include <string>

namespace grapevine::world {

struct FaultRun {
  std::uint64_t trace = 0;   // hash of all that happened
  std::uint64_t events = 0;  // how much that was
  std::uint64_t rounds = 0;  // the newest round at the end
  std::size_t replays = 0;   // rounds in the ledgers that were computed once more
  double healed_after_s = 0;
  std::string fault;  // the first check that did not hold; empty: all did
};

[[nodiscard]] FaultRun run_with_faults(std::uint64_t seed);

}  // namespace grapevine::world
