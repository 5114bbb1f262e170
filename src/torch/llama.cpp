#include "torch/llama_detail.hpp"

#include "grapevine/base/assert.hpp"
#include "torch/fused_ops_detail.hpp"

#include <ATen/ATen.h>

namespace grapevine {

Llama::Llama(ModelConfig const& config, TensorLayout const& layout, at::Tensor flat,
             Gradients gradients)
    : config_(config), flat_(std::move(flat)) {
  ASSERT(flat_.numel() == static_cast<std::int64_t>(layout.elements()));
  if (gradients == Gradients::flat) gradient_ = at::zeros_like(flat_);
  embedding_ = view(layout, "model.embed_tokens.weight");
  head_ = config.tied_head ? embedding_ : view(layout, "lm_head.weight");
  norm_ = view(layout, "model.norm.weight");
  for (std::uint32_t i = 0; i < config.layers; ++i) layers_.push_back(make_layer(layout, i));
  make_rotation();
}

// A leaf of the graph whose values, and gradient if there is one, lie inside the flat tensors.
// With `row_factor` 2 it takes in the next tensor of the layout, of the same shape.
at::Tensor Llama::view(TensorLayout const& layout, std::string const& name,
                       std::int64_t row_factor) const {
  auto const* const spec = layout.find(name);
  ASSERT(spec != nullptr);
  auto shape = spec->shape;
  shape[0] *= row_factor;
  auto const cut = [&](at::Tensor const& from) {
    return from
        .narrow(0, static_cast<std::int64_t>(spec->offset),
                static_cast<std::int64_t>(spec->elements) * row_factor)
        .view(shape)
        .detach();
  };
  auto leaf = cut(flat_);
  if (gradient_.defined()) {
    leaf.requires_grad_(true);
    leaf.mutable_grad() = cut(gradient_);
  }
  return leaf;
}

Llama::Layer Llama::make_layer(TensorLayout const& layout, std::uint32_t index) const {
  std::string const prefix = "model.layers." + std::to_string(index) + ".";
  auto const projection = [&](std::string const& name) -> Projection {
    auto const at = prefix + "self_attn." + name;
    return {view(layout, at + ".weight"),
            config_.qkv_bias ? view(layout, at + ".bias") : at::Tensor()};
  };
  auto const* const gate = layout.find(prefix + "mlp.gate_proj.weight");
  auto const* const up = layout.find(prefix + "mlp.up_proj.weight");
  ASSERT(gate->offset + gate->elements == up->offset);
  return {.input_norm = view(layout, prefix + "input_layernorm.weight"),
          .query = projection("q_proj"),
          .key = projection("k_proj"),
          .value = projection("v_proj"),
          .output = view(layout, prefix + "self_attn.o_proj.weight"),
          .post_norm = view(layout, prefix + "post_attention_layernorm.weight"),
          .gate_up = view(layout, gate->name, 2),
          .down = view(layout, prefix + "mlp.down_proj.weight")};
}

void Llama::make_rotation() {
  std::int64_t const head = config_.hidden_size / config_.heads;
  auto const options = flat_.options().dtype(at::kDouble).device(at::kCPU);
  auto const exponent = at::arange(0, head, 2, options) / static_cast<double>(head);
  auto const frequency = at::pow(at::full({1}, double{config_.rope_theta}, options), -exponent);
  auto const angle = at::outer(at::arange(0, std::int64_t{config_.context}, options), frequency);
  cosine_ = angle.cos().to(flat_.device(), at::kFloat);
  sine_ = angle.sin().to(flat_.device(), at::kFloat);
}

at::Tensor Llama::attention(Layer const& layer, at::Tensor const& x, std::int64_t length) const {
  std::int64_t const width = config_.hidden_size / config_.heads;
  std::int64_t const sequences = x.size(0) / length;
  auto const heads_of = [&](Projection const& projection, std::int64_t heads) {
    return at::linear(x, projection.weight, projection.bias)
        .view({sequences, length, heads, width});
  };
  auto const q = fused::rotate(heads_of(layer.query, config_.heads), cosine_, sine_);
  auto const k = fused::rotate(heads_of(layer.key, config_.kv_heads), cosine_, sine_);
  auto const v = heads_of(layer.value, config_.kv_heads);
  auto const mixed =
      at::scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), {},
                                       0.0, true, std::nullopt, config_.heads != config_.kv_heads);
  return at::linear(mixed.transpose(1, 2).reshape({x.size(0), config_.hidden_size}), layer.output);
}

at::Tensor Llama::hidden(at::Tensor const& tokens) const {
  std::int64_t const length = tokens.size(1);
  ASSERT(length <= config_.context);
  auto x = at::embedding(embedding_, tokens.reshape({-1}));
  auto h = fused::norm(x, layers_.front().input_norm, config_.rms_eps);
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    auto const& layer = layers_[i];
    std::tie(x, h) =
        fused::add_norm(x, attention(layer, h, length), layer.post_norm, config_.rms_eps);
    auto const inner = fused::swiglu(at::linear(h, layer.gate_up));
    auto const& next = i + 1 < layers_.size() ? layers_[i + 1].input_norm : norm_;
    std::tie(x, h) = fused::add_norm(x, at::linear(inner, layer.down), next, config_.rms_eps);
  }
  return h;
}

at::Tensor Llama::logits(at::Tensor const& tokens) const {
  return at::linear(hidden(tokens), head_);
}

at::Tensor Llama::loss(at::Tensor const& rows) const {
  std::int64_t const length = rows.size(1) - 1;
  auto const predicted = logits(rows.narrow(1, 0, length));
  return at::cross_entropy_loss(predicted.to(at::kFloat), rows.narrow(1, 1, length).reshape({-1}));
}

}  // namespace grapevine
