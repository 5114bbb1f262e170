// PacedTrainer: a trainer whose steps take a time that was given, by its own word. In a simulated
// world that is the only time there is; what the steps really take must not show.
#pragma once

#include "grapevine/train/trainer.hpp"

#include <memory>

namespace grapevine {

[[nodiscard]] std::unique_ptr<Trainer> make_paced_trainer(std::unique_ptr<Trainer> inner,
                                                          double seconds_per_step);

}  // namespace grapevine
