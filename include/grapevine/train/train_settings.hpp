// TrainSettings: AdamW, the size of a step, and the learning-rate schedule: the same fields as the
// inner optimizer of a run's manifest, which the node copies here. Pure; a value; any thread.
// AdamW: Loshchilov and Hutter, "Decoupled weight decay regularization", algorithm 2. Decay is for
// weights of two or more dimensions only, as is usual: not for norms and biases.
#pragma once

#include "grapevine/tensor/layout.hpp"

#include <cstdint>
#include <vector>

namespace grapevine {

struct TrainSettings {
  float lr = 1e-3F;
  float lr_final = 1e-4F;
  std::uint32_t warmup_steps = 50;
  std::uint64_t schedule_steps = 2000;  // from step 0, the warm-up included
  float beta1 = 0.9F;
  float beta2 = 0.95F;
  float eps = 1e-8F;
  float weight_decay = 0.1F;
  float clip_norm = 1.0F;          // of the whole gradient; 0: never
  std::uint32_t batch = 16;        // sequences an inner step
  std::uint32_t accumulation = 1;  // micro-batches a step is split into; divides batch
};

// Errc::config_invalid names the field.
[[nodiscard]] Result<> check(TrainSettings const& settings);

// Linear warm-up to lr, then half a cosine down to lr_final, which it keeps. Steps count from 0.
// The same bits on every machine: no libm.
[[nodiscard]] double learning_rate(TrainSettings const& settings, std::uint64_t step);

// The maximal ranges of the flat vector that weight decay applies to, and the rest, in order.
struct DecayRanges {
  std::vector<ElementRange> decayed;
  std::vector<ElementRange> plain;
};
[[nodiscard]] DecayRanges decay_ranges(TensorLayout const& layout);

}  // namespace grapevine
