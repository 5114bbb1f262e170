// The reference trainer with faults, and with a record of what it was asked to do, kept by whoever
// watches. Made and used like any Trainer, on a simulated worker.
#pragma once

#include "grapevine/train/reference_trainer.hpp"

#include <memory>
#include <optional>
#include <set>
#include <string>

namespace grapevine::world {

struct TrainerFaults {
  std::optional<std::uint64_t> not_finite_at;  // the gradient of this step is not a number
  std::set<std::uint64_t> fails_at;  // calls of run(), of all starts together, that end in an error
};

// Of one machine. Outlives its trainers.
struct TrainerRecord {
  bool faults_over = false;          // set from outside: from then on it trains as it should
  std::uint64_t runs = 0;            // calls of run()
  std::set<std::uint64_t> saved{0};  // data positions that were saved
  std::uint64_t position = 0;        // where the present trainer stands
  double largest = 0;                // magnitude of a parameter that was written
  std::string fault;                 // what a node must never ask for; empty: all was well
};

// `record` outlives the trainer.
[[nodiscard]] Result<std::unique_ptr<Trainer>> make_watched_trainer(ReferenceOptions const& options,
                                                                    TrainerFaults faults,
                                                                    TrainerRecord& record);

}  // namespace grapevine::world
