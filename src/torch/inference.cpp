#include "grapevine/base/assert.hpp"
#include "grapevine/base/random.hpp"
#include "grapevine/torch/torch_trainer.hpp"
#include "grapevine/train/trainer_state.hpp"
#include "torch/device_detail.hpp"
#include "torch/llama_detail.hpp"
#include "torch/precision_detail.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace grapevine {
namespace {

constexpr std::uint32_t rows_at_once = 16;
constexpr std::uint32_t byte_vocabulary = 256;

// A model on the CPU that reads `parameters` where they are; they must outlive it.
Result<Llama> borrow(ModelConfig const& config, std::span<float const> parameters,
                     Gradients gradients) {
  TRY_ASSIGN(auto const layout, model_layout(config));
  TRY(check_parameters(layout, parameters));
  auto const flat = at::from_blob(const_cast<float*>(parameters.data()),
                                  {static_cast<std::int64_t>(parameters.size())}, at::kFloat);
  return Llama(config, layout, flat, gradients);
}

at::Tensor tensor_of(std::span<std::int64_t const> tokens, std::int64_t sequences) {
  auto const count = static_cast<std::int64_t>(tokens.size());
  ASSERT(sequences > 0 && count % sequences == 0);
  return at::from_blob(const_cast<std::int64_t*>(tokens.data()), {sequences, count / sequences},
                       at::kLong);
}

Result<> check_tokens(ModelConfig const& config, std::span<std::int64_t const> tokens) {
  for (auto const token : tokens) {
    if (token < 0 || token >= std::int64_t{config.vocab_size})
      return fail(Errc::malformed,
                  fmt::format("token {} in a vocabulary of {}", token, config.vocab_size));
  }
  return {};
}

// Draws from the softmax of `logits` over the `top_k` largest at `temperature`.
std::int64_t choose(std::span<float const> logits, SampleOptions const& options, Random& random) {
  std::vector<std::int64_t> order(logits.size());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  // Ties go to the smaller token, so that a choice does not depend on the sort.
  std::ranges::sort(order, [&](auto a, auto b) {
    auto const x = logits[static_cast<std::size_t>(a)];
    auto const y = logits[static_cast<std::size_t>(b)];
    return x != y ? x > y : a < b;
  });
  if (options.temperature <= 0) return order.front();
  if (options.top_k > 0 && options.top_k < order.size()) order.resize(options.top_k);
  std::vector<double> weights;
  double const highest = logits[static_cast<std::size_t>(order.front())];
  for (auto const token : order)
    weights.push_back(
        std::exp((logits[static_cast<std::size_t>(token)] - highest) / options.temperature));
  double left = random.unit() * std::accumulate(weights.begin(), weights.end(), 0.0);
  for (std::size_t i = 0; i < order.size(); ++i)
    if ((left -= weights[i]) < 0) return order[i];
  return order.front();
}

std::vector<float> vector_of(at::Tensor const& tensor) {
  auto const flat = tensor.contiguous();
  auto const* const from = flat.const_data_ptr<float>();
  return {from, from + flat.numel()};
}

}  // namespace

Result<EvalReport> evaluate_model(ModelConfig const& config, std::span<float const> parameters,
                                  std::span<Dataset const* const> data,
                                  std::uint32_t windows_each) {
  return guarded([&]() -> Result<EvalReport> {
    at::NoGradGuard const no_grad;
    TRY_ASSIGN(auto const model, borrow(config, parameters, Gradients::none));
    EvalReport total;
    for (auto const* const set : data) {
      TRY_ASSIGN(auto const report, held_out_loss(*set, config.context, windows_each, rows_at_once,
                                                  [&](at::Tensor const& rows) -> Result<double> {
                                                    return model.loss(rows).item<double>();
                                                  }));
      total.loss += report.loss / static_cast<float>(data.size());
      total.tokens += report.tokens;
    }
    return total;
  });
}

Result<std::string> sample_text(ModelConfig const& config, std::span<float const> parameters,
                                SampleOptions const& options) {
  if (config.vocab_size != byte_vocabulary)
    return fail(Errc::unsupported, fmt::format("text from a vocabulary of {}: only models over "
                                               "bytes have their tokenizer built in",
                                               config.vocab_size));
  return guarded([&]() -> Result<std::string> {
    at::NoGradGuard const no_grad;
    TRY_ASSIGN(auto const model, borrow(config, parameters, Gradients::none));
    SeededRandom random(options.seed);
    // Without a prompt the model goes on from the end of a line.
    std::vector<std::int64_t> tokens;
    for (auto const byte : as_bytes(options.prompt.empty() ? "\n" : options.prompt))
      tokens.push_back(byte);
    std::string text = options.prompt;
    for (std::uint32_t i = 0; i < options.tokens; ++i) {
      auto const seen = std::min<std::size_t>(tokens.size(), config.context);
      auto const logits = model.logits(tensor_of(std::span(tokens).last(seen), 1));
      auto const last = vector_of(logits[logits.size(0) - 1]);
      tokens.push_back(choose(last, options, random));
      text += static_cast<char>(tokens.back());
    }
    return text;
  });
}

Result<std::vector<float>> model_logits(ModelConfig const& config,
                                        std::span<float const> parameters,
                                        std::span<std::int64_t const> tokens) {
  TRY(check_tokens(config, tokens));
  return guarded([&]() -> Result<std::vector<float>> {
    at::NoGradGuard const no_grad;
    TRY_ASSIGN(auto const model, borrow(config, parameters, Gradients::none));
    return vector_of(model.logits(tensor_of(tokens, 1)));
  });
}

Result<LossGradient> model_gradient(ModelConfig const& config, std::span<float const> parameters,
                                    std::span<std::int64_t const> rows, std::uint32_t sequences) {
  TRY(check_tokens(config, rows));
  return guarded([&]() -> Result<LossGradient> {
    TRY_ASSIGN(auto const model, borrow(config, parameters, Gradients::flat));
    auto const loss = model.loss(tensor_of(rows, sequences));
    torch::autograd::backward({loss}, {});
    return LossGradient{loss.item<float>(), vector_of(model.gradient())};
  });
}

}  // namespace grapevine
