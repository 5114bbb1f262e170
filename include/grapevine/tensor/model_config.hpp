// ModelConfig: the shape of a decoder-only Llama-style transformer, read and written as a
// Hugging Face config.json (model_type "llama", or "qwen2" when qkv_bias). Pure; a
// value.
#pragma once

#include "grapevine/tensor/layout.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace grapevine {

struct ModelConfig {
  std::string preset = "custom";
  std::uint32_t vocab_size = 256;
  std::uint32_t hidden_size = 128;
  std::uint32_t intermediate_size = 352;
  std::uint32_t layers = 4;
  std::uint32_t heads = 4;
  std::uint32_t kv_heads = 2;
  std::uint32_t context = 128;
  float rope_theta = 10000.0F;
  float rms_eps = 1e-5F;
  bool tied_head = true;
  bool qkv_bias = false;

  bool operator==(ModelConfig const&) const = default;
};

// nano (about 1 M parameters, bytes, context 128), micro (about 10 M), small (about 125 M).
[[nodiscard]] Result<ModelConfig> model_preset(std::string_view name);
[[nodiscard]] std::vector<std::string> model_preset_names();
// Divisibility, ranges and an upper bound of 2^40 elements; the message names the field as here.
[[nodiscard]] Result<> check(ModelConfig const& config);
// The parameters, with canonical names ("model.layers.0.self_attn.q_proj.weight", …).
[[nodiscard]] Result<TensorLayout> model_layout(ModelConfig const& config);
[[nodiscard]] std::string to_config_json(ModelConfig const& config);
[[nodiscard]] Result<ModelConfig> from_config_json(std::string_view json);

}  // namespace grapevine
