#include "ml/plain_llama.hpp"

#include <algorithm>
#include <cmath>
#include <complex>

namespace grapevine::plain {
namespace {

double dot(std::span<double const> a, std::span<double const> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

void add(Vector& to, Vector const& more) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += more[i];
}

}  // namespace

Llama::Llama(ModelConfig config, TensorLayout layout, Vector parameters)
    : config_(std::move(config)), layout_(std::move(layout)), parameters_(std::move(parameters)) {}

std::span<double const> Llama::tensor(std::string const& name) const {
  auto const* const spec = layout_.find(name);
  return std::span(parameters_).subspan(spec->offset, spec->elements);
}

Vector Llama::times(std::string const& name, Vector const& x) const {
  auto const weight = tensor(name);
  Vector y(weight.size() / x.size());
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = dot(weight.subspan(i * x.size(), x.size()), x);
  return y;
}

Vector Llama::project(std::string const& name, Vector const& x) const {
  auto y = times(name + ".weight", x);
  if (config_.qkv_bias) {
    auto const bias = tensor(name + ".bias");
    for (std::size_t i = 0; i < y.size(); ++i) y[i] += bias[i];
  }
  return y;
}

Vector Llama::norm(std::string const& name, Vector const& x) const {
  auto const weight = tensor(name);
  double const root = std::sqrt(dot(x, x) / static_cast<double>(x.size()) + config_.rms_eps);
  Vector y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = x[i] / root * weight[i];
  return y;
}

// Elements i and i + half of a head are one complex number that turns with the position.
void Llama::turn(Vector& heads, std::size_t position) const {
  std::size_t const width = config_.hidden_size / config_.heads;
  for (std::size_t head = 0; head < heads.size(); head += width) {
    for (std::size_t i = 0; i < width / 2; ++i) {
      double const exponent = -2.0 * static_cast<double>(i) / static_cast<double>(width);
      double const angle = static_cast<double>(position) * std::pow(config_.rope_theta, exponent);
      auto const turned =
          std::complex(heads[head + i], heads[head + i + width / 2]) * std::polar(1.0, angle);
      heads[head + i] = turned.real();
      heads[head + i + width / 2] = turned.imag();
    }
  }
}

std::vector<Vector> Llama::attend(std::string const& prefix,
                                  std::vector<Vector> const& inputs) const {
  std::size_t const width = config_.hidden_size / config_.heads;
  std::vector<Vector> queries, keys, values, outputs;
  for (std::size_t t = 0; t < inputs.size(); ++t) {
    queries.push_back(project(prefix + "q_proj", inputs[t]));
    keys.push_back(project(prefix + "k_proj", inputs[t]));
    values.push_back(project(prefix + "v_proj", inputs[t]));
    turn(queries.back(), t);
    turn(keys.back(), t);
    Vector mixed(config_.hidden_size);
    for (std::size_t head = 0; head < config_.heads; ++head) {
      std::size_t const shared = head / (config_.heads / config_.kv_heads) * width;
      Vector weights;
      for (std::size_t s = 0; s <= t; ++s)
        weights.push_back(std::exp(dot(std::span(queries[t]).subspan(head * width, width),
                                       std::span(keys[s]).subspan(shared, width)) /
                                   std::sqrt(static_cast<double>(width))));
      double total = 0;
      for (double const weight : weights) total += weight;
      for (std::size_t s = 0; s <= t; ++s)
        for (std::size_t i = 0; i < width; ++i)
          mixed[head * width + i] += weights[s] / total * values[s][shared + i];
    }
    outputs.push_back(times(prefix + "o_proj.weight", mixed));
  }
  return outputs;
}

std::vector<Vector> Llama::logits(std::span<std::int64_t const> tokens) const {
  std::vector<Vector> stream;
  auto const embedding = tensor("model.embed_tokens.weight");
  for (auto const token : tokens) {
    auto const row = embedding.subspan(static_cast<std::size_t>(token) * config_.hidden_size,
                                       config_.hidden_size);
    stream.emplace_back(row.begin(), row.end());
  }
  for (std::uint32_t layer = 0; layer < config_.layers; ++layer) {
    std::string const prefix = "model.layers." + std::to_string(layer) + ".";
    std::vector<Vector> inputs;
    for (auto const& x : stream) inputs.push_back(norm(prefix + "input_layernorm.weight", x));
    auto const attended = attend(prefix + "self_attn.", inputs);
    for (std::size_t t = 0; t < stream.size(); ++t) {
      add(stream[t], attended[t]);
      auto const h = norm(prefix + "post_attention_layernorm.weight", stream[t]);
      auto inner = times(prefix + "mlp.gate_proj.weight", h);
      auto const up = times(prefix + "mlp.up_proj.weight", h);
      for (std::size_t i = 0; i < inner.size(); ++i)
        inner[i] = inner[i] / (1 + std::exp(-inner[i])) * up[i];
      add(stream[t], times(prefix + "mlp.down_proj.weight", inner));
    }
  }
  std::vector<Vector> outputs;
  for (auto const& x : stream)
    outputs.push_back(times(config_.tied_head ? "model.embed_tokens.weight" : "lm_head.weight",
                            norm("model.norm.weight", x)));
  return outputs;
}

double Llama::loss(std::span<std::int64_t const> rows, std::size_t sequences) const {
  std::size_t const row = rows.size() / sequences;
  double sum = 0;
  for (std::size_t i = 0; i < sequences; ++i) {
    auto const tokens = rows.subspan(i * row, row);
    auto const outputs = logits(tokens.first(row - 1));
    for (std::size_t t = 0; t + 1 < row; ++t) {
      double total = 0;
      for (double const logit : outputs[t]) total += std::exp(logit);
      sum += std::log(total) - outputs[t][static_cast<std::size_t>(tokens[t + 1])];
    }
  }
  return sum / static_cast<double>(sequences * (row - 1));
}

}  // namespace grapevine::plain
