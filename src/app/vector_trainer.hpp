// A Trainer of a vector that means nothing: its inner step takes a given time and moves every
// element by a multiple of `moved`, no two parts of the vector alike. For measuring what mixing
// costs, whatever the model.
#pragma once

#include "grapevine/base/time.hpp"
#include "grapevine/train/trainer.hpp"

#include <memory>

namespace grapevine {

[[nodiscard]] Result<std::unique_ptr<Trainer>> make_vector_trainer(std::uint64_t elements,
                                                                   Duration step, float moved);

}  // namespace grapevine
