// ReferenceTrainer: a Trainer in plain C++ with exact gradients, small enough that a simulation
// takes thousands of steps a second, and with the same bits on every machine. The model predicts
// the next symbol from the last `context` symbols: a softmax over summed table rows (hidden = 0) or
// over one hidden layer (softsign). Bengio et al. 2003, "A neural probabilistic language model".
// Its data is drawn from a Markov chain that all peers of a run share; each draws its own samples.
// No clock, no file, no thread: seconds in its reports are `seconds_per_step` a step.
#pragma once

#include "grapevine/train/train_settings.hpp"
#include "grapevine/train/trainer.hpp"

#include <cstdint>
#include <memory>
#include <optional>

namespace grapevine {

struct ReferenceOptions {
  std::uint32_t vocab = 8;      // 2..256
  std::uint32_t context = 1;    // 1..16
  std::uint32_t hidden = 0;     // 0..1024; vocab 8, context 1, hidden 0: 72 parameters
  std::uint64_t run_seed = 0;   // first parameters, Markov chain and held-out samples
  std::uint64_t data_seed = 0;  // this peer's samples
  std::uint32_t eval_samples = 512;
  double seconds_per_step = 0.01;
  // A fault for simulations: the gradient of this step is not a number.
  std::optional<std::uint64_t> not_finite_at = std::nullopt;
  TrainSettings settings{.lr = 0.05F,
                         .lr_final = 0.005F,
                         .warmup_steps = 0,
                         .schedule_steps = 1000,
                         .weight_decay = 0,
                         .batch = 32};
};

// Tensors "input.weight" [context * vocab, width], "input.bias" [width], and with a hidden layer
// "output.weight" [vocab, hidden], "output.bias" [vocab]; width is hidden, or vocab without.
[[nodiscard]] Result<TensorLayout> reference_layout(ReferenceOptions const& options);
[[nodiscard]] Result<std::unique_ptr<Trainer>> make_reference_trainer(
    ReferenceOptions const& options);
// The entropy of the Markov chain: no model's held-out loss can stay below it.
[[nodiscard]] double reference_entropy(ReferenceOptions const& options);

}  // namespace grapevine
