// Mixed precision: fp32 master weights, and products in bf16 where that is faster. For this module
// alone.
#pragma once

#include "grapevine/torch/torch_trainer.hpp"
#include "torch/llama_detail.hpp"

#include <c10/core/Device.h>

#include <functional>

namespace grapevine {

// LibTorch's autocast for one forward and backward pass, on this thread.
class Autocast {
 public:
  Autocast(c10::Device device, bool on);
  ~Autocast();
  Autocast(Autocast const&) = delete;
  Autocast& operator=(Autocast const&) = delete;

 private:
  c10::DeviceType type_;
  bool on_;
};

// Whether to compute in bf16. Automatic: where a few passes of this model are faster with it.
[[nodiscard]] bool choose_precision(Precision wish, Llama const& model, ModelConfig const& config,
                                    c10::Device device);

// The mean of `loss` over the held-out windows of `data`, `at_once` rows a call.
[[nodiscard]] Result<EvalReport> held_out_loss(
    Dataset const& data, std::uint32_t context, std::uint32_t windows, std::uint32_t at_once,
    std::function<Result<double>(at::Tensor const& rows)> const& loss);

}  // namespace grapevine
