// Llama: a decoder-only transformer whose weights are views of one flat tensor. For the .cpp files
// of this module alone: it shows LibTorch.
#pragma once

#include "grapevine/tensor/model_config.hpp"

#include <ATen/core/Tensor.h>

#include <vector>

namespace grapevine {

enum class Gradients { none, flat };

class Llama {
 public:
  // `flat` holds the parameters, on the device the model is to run on. With gradients, backward()
  // adds to gradient().
  Llama(ModelConfig const& config, TensorLayout const& layout, at::Tensor flat,
        Gradients gradients);

  // [sequences, length] tokens to [sequences * length, vocab].
  [[nodiscard]] at::Tensor logits(at::Tensor const& tokens) const;
  // The mean loss of predicting each row's tokens 1.. from those before.
  [[nodiscard]] at::Tensor loss(at::Tensor const& rows) const;
  [[nodiscard]] at::Tensor const& gradient() const { return gradient_; }

 private:
  struct Projection {
    at::Tensor weight;
    at::Tensor bias;  // may be undefined
  };
  struct Layer {
    at::Tensor input_norm;
    Projection query;
    Projection key;
    Projection value;
    at::Tensor output;
    at::Tensor post_norm;
    at::Tensor gate_up;  // neighbours in the layout, so one matrix
    at::Tensor down;
  };

  [[nodiscard]] at::Tensor view(TensorLayout const& layout, std::string const& name,
                                std::int64_t row_factor = 1) const;
  [[nodiscard]] Layer make_layer(TensorLayout const& layout, std::uint32_t index) const;
  void make_rotation();
  [[nodiscard]] at::Tensor attention(Layer const& layer, at::Tensor const& x,
                                     std::int64_t length) const;
  [[nodiscard]] at::Tensor hidden(at::Tensor const& tokens) const;

  ModelConfig config_;
  at::Tensor flat_;
  at::Tensor gradient_;
  at::Tensor embedding_;
  at::Tensor head_;
  at::Tensor norm_;
  std::vector<Layer> layers_;
  at::Tensor cosine_;  // [context, half a head]
  at::Tensor sine_;
};

}  // namespace grapevine
