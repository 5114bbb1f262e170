#include "grapevine/train/initial_parameters.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>

using namespace grapevine;

namespace {

struct Moments {
  double mean = 0;
  double deviation = 0;
};

Moments moments(std::vector<float> const& parameters, TensorLayout const& layout,
                std::string_view name) {
  auto const* const tensor = layout.find(name);
  double sum = 0;
  double squares = 0;
  for (std::uint64_t i = 0; i < tensor->elements; ++i) {
    double const value = parameters[tensor->offset + i];
    sum += value;
    squares += value * value;
  }
  auto const count = static_cast<double>(tensor->elements);
  return {sum / count, std::sqrt(squares / count - sum / count * sum / count)};
}

}  // namespace

TEST_CASE("initial parameters have the deviations that GPT-2 begins with") {
  auto config = model_preset("nano").value();
  config.qkv_bias = true;
  auto const layout = model_layout(config).value();
  auto const parameters = initial_parameters(config, 1).value();
  auto const embedding = moments(parameters, layout, "model.embed_tokens.weight");
  CHECK(std::abs(embedding.mean) < 0.001);
  CHECK(embedding.deviation == doctest::Approx(0.02).epsilon(0.02));
  auto const back = moments(parameters, layout, "model.layers.1.mlp.down_proj.weight");
  CHECK(back.deviation == doctest::Approx(0.02 / std::sqrt(8)).epsilon(0.02));
  auto const norm = moments(parameters, layout, "model.layers.3.post_attention_layernorm.weight");
  CHECK(norm.mean == 1.0);
  CHECK(norm.deviation == 0.0);
  CHECK(moments(parameters, layout, "model.layers.0.self_attn.q_proj.bias").mean == 0.0);
}

TEST_CASE("initial parameters are the same bits everywhere, and differ by seed") {
  ModelConfig const config{.hidden_size = 8, .intermediate_size = 8, .layers = 1, .kv_heads = 4};
  auto const parameters = initial_parameters(config, 7).value();
  std::uint64_t sum = 0;
  for (float const value : parameters) sum = sum * 31 + std::bit_cast<std::uint32_t>(value);
  CHECK(sum == 2'403'904'625'100'203'177ULL);
  CHECK(parameters != initial_parameters(config, 8).value());
  CHECK(initial_parameters({.heads = 0}, 1).error().errc() == Errc::config_invalid);
}
