// The LibTorch engine: a Trainer for Llama-style transformers on a CPU or an NVIDIA GPU, and what
// else needs the model: evaluation and text. This header shows no LibTorch. A trainer is created,
// used and destroyed on the train worker's thread. Master weights are one flat fp32 tensor in the
// order of the layout; parameters are views of it.
#pragma once

#include "grapevine/tensor/model_config.hpp"
#include "grapevine/train/dataset.hpp"
#include "grapevine/train/train_settings.hpp"
#include "grapevine/train/trainer.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace grapevine {

enum class Precision { automatic, fp32, bf16 };  // of the computation; automatic measures both

struct TorchTrainerOptions {
  ModelConfig model;
  TrainSettings settings;
  std::shared_ptr<Dataset const> data;  // opened with the model's vocabulary, context and the batch
  std::uint64_t run_seed = 0;           // the parameters at round 0
  std::uint64_t data_seed = 0;          // this peer's samples: sampling_seed(run_seed, peer)
  std::string device = "auto";          // "auto", "cpu", "cuda", "cuda:N"
  std::uint32_t threads = 0;            // of this process on a CPU; 0: all it may use
  Precision precision = Precision::automatic;
  std::uint32_t eval_windows = 64;  // held-out sequences an evaluation reads at most
};

// Errc::config_invalid, device_unavailable, model_too_large or out_of_memory. `threads` holds for
// the whole process.
[[nodiscard]] Result<std::unique_ptr<Trainer>> make_torch_trainer(TorchTrainerOptions options);

// The mean held-out loss of a model over several peers' data, each weighing the same. On the CPU.
[[nodiscard]] Result<EvalReport> evaluate_model(ModelConfig const& model,
                                                std::span<float const> parameters,
                                                std::span<Dataset const* const> data,
                                                std::uint32_t windows_each = 64);

struct SampleOptions {
  std::string prompt;
  std::uint32_t tokens = 200;  // bytes of text to add
  std::uint64_t seed = 0;
  float temperature = 0.8F;  // 0: always the likeliest
  std::uint32_t top_k = 40;  // 0: all
};
// Text that goes on from the prompt, the prompt included. For models over bytes; others:
// Errc::unsupported. On the CPU.
[[nodiscard]] Result<std::string> sample_text(ModelConfig const& model,
                                              std::span<float const> parameters,
                                              SampleOptions const& options);

// Loads LibTorch's CUDA part, once, when a driver is there; must come before anything else asks
// LibTorch for CUDA. Errc::device_unavailable says what is missing. Any thread.
[[nodiscard]] Result<> load_cuda_backend();

// What tests compare with other implementations: logits of one sequence, [tokens, vocab] row by
// row, and the loss of one batch with its gradient in the order of the layout. On the CPU, fp32.
[[nodiscard]] Result<std::vector<float>> model_logits(ModelConfig const& model,
                                                      std::span<float const> parameters,
                                                      std::span<std::int64_t const> tokens);
struct LossGradient {
  float loss = 0;
  std::vector<float> gradient;
};
[[nodiscard]] Result<LossGradient> model_gradient(ModelConfig const& model,
                                                  std::span<float const> parameters,
                                                  std::span<std::int64_t const> rows,
                                                  std::uint32_t sequences);

}  // namespace grapevine
