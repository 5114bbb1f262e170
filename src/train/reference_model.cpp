#include "train/reference_model_detail.hpp"

#include "grapevine/base/assert.hpp"
#include "grapevine/base/portable_math.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace grapevine {
namespace {

// How often the favourite follows; otherwise any symbol does, with equal chances.
constexpr double favourite_chance = 0.75;

double softsign(double x) { return x / (1 + std::abs(x)); }

}  // namespace

double finite_log(double probability) { return portable::log(std::max(probability, 1e-304)); }

ReferenceChain::ReferenceChain(ReferenceOptions const& options)
    : context_(options.context), favourite_(options.vocab) {
  SeededRandom random(options.run_seed);
  std::iota(favourite_.begin(), favourite_.end(), std::uint8_t{0});
  random.shuffle(std::span(favourite_));
}

std::uint8_t ReferenceChain::next(Random& random, std::uint8_t symbol) const {
  if (random.unit() < favourite_chance) return favourite_[symbol];
  return static_cast<std::uint8_t>(random.below(favourite_.size()));
}

ReferenceBatch ReferenceChain::draw(Random& random, std::uint32_t samples) const {
  ReferenceBatch batch;
  batch.reserve(std::size_t{samples} * (context_ + 1));
  for (std::uint32_t i = 0; i < samples; ++i) {
    auto symbol = static_cast<std::uint8_t>(random.below(favourite_.size()));
    batch.push_back(symbol);
    for (std::uint32_t j = 0; j < context_; ++j) batch.push_back(symbol = next(random, symbol));
  }
  return batch;
}

double reference_entropy(ReferenceOptions const& options) {
  double const other = (1 - favourite_chance) / options.vocab;
  double const first = favourite_chance + other;
  return -first * portable::log(first) - (options.vocab - 1) * other * portable::log(other);
}

ReferenceModel::ReferenceModel(ReferenceOptions const& options, TensorLayout layout)
    : layout_(std::move(layout)),
      vocab_(options.vocab),
      context_(options.context),
      hidden_(options.hidden),
      width_(options.hidden > 0 ? options.hidden : options.vocab),
      sum_(width_),
      activation_(hidden_),
      probability_(vocab_),
      sum_gradient_(width_),
      gradient_(layout_.elements()) {
  input_weight_ = layout_.find("input.weight")->offset;
  input_bias_ = layout_.find("input.bias")->offset;
  if (hidden_ == 0) return;
  output_weight_ = layout_.find("output.weight")->offset;
  output_bias_ = layout_.find("output.bias")->offset;
}

std::vector<float> ReferenceModel::first_parameters(std::uint64_t seed) const {
  SeededRandom random(seed);
  std::vector<float> parameters(layout_.elements());
  // Uniform in +-scale is enough to break the symmetry of hidden units; biases begin at zero.
  auto const fill = [&](std::size_t offset, std::size_t count, double scale) {
    for (std::size_t i = 0; i < count; ++i)
      parameters[offset + i] = static_cast<float>((2 * random.unit() - 1) * scale);
  };
  fill(input_weight_, context_ * vocab_ * width_, hidden_ > 0 ? 0.5 : 0.05);
  if (hidden_ > 0) fill(output_weight_, vocab_ * hidden_, 0.05);
  return parameters;
}

void ReferenceModel::predict(std::span<float const> parameters,
                             std::span<std::uint8_t const> context) {
  for (std::size_t i = 0; i < width_; ++i) sum_[i] = parameters[input_bias_ + i];
  for (std::size_t c = 0; c < context_; ++c) {
    auto const row = parameters.subspan(input_weight_ + (c * vocab_ + context[c]) * width_, width_);
    for (std::size_t i = 0; i < width_; ++i) sum_[i] += row[i];
  }
  if (hidden_ == 0) {
    std::ranges::copy(sum_, probability_.begin());
  } else {
    for (std::size_t i = 0; i < hidden_; ++i) activation_[i] = softsign(sum_[i]);
    for (std::size_t k = 0; k < vocab_; ++k) {
      auto const row = parameters.subspan(output_weight_ + k * hidden_, hidden_);
      double logit = parameters[output_bias_ + k];
      for (std::size_t i = 0; i < hidden_; ++i) logit += row[i] * activation_[i];
      probability_[k] = logit;
    }
  }
  double const highest = *std::ranges::max_element(probability_);
  double total = 0;
  for (auto& p : probability_) total += p = portable::exp(p - highest);
  for (auto& p : probability_) p /= total;
}

std::span<double const> ReferenceModel::probabilities(std::span<float const> parameters,
                                                      std::span<std::uint8_t const> context) {
  ASSERT(context.size() == context_);
  predict(parameters, context);
  return probability_;
}

double ReferenceModel::forward(std::span<float const> parameters,
                               std::span<std::uint8_t const> sample) {
  predict(parameters, sample.first(context_));
  return -finite_log(probability_[sample[context_]]);
}

void ReferenceModel::backward(std::span<float const> parameters,
                              std::span<std::uint8_t const> sample, double scale) {
  // d loss / d logit = probability - 1{target}; from here on probability_ holds that.
  probability_[sample[context_]] -= 1;
  for (auto& p : probability_) p *= scale;
  if (hidden_ == 0) {
    std::ranges::copy(probability_, sum_gradient_.begin());
  } else {
    std::ranges::fill(sum_gradient_, 0.0);
    for (std::size_t k = 0; k < vocab_; ++k) {
      auto const row = parameters.subspan(output_weight_ + k * hidden_, hidden_);
      double* const out = gradient_.data() + output_weight_ + k * hidden_;
      gradient_[output_bias_ + k] += probability_[k];
      for (std::size_t i = 0; i < hidden_; ++i) {
        out[i] += probability_[k] * activation_[i];
        sum_gradient_[i] += probability_[k] * row[i];
      }
    }
    for (std::size_t i = 0; i < hidden_; ++i) {
      double const slope = 1 / (1 + std::abs(sum_[i]));
      sum_gradient_[i] *= slope * slope;
    }
  }
  for (std::size_t i = 0; i < width_; ++i) gradient_[input_bias_ + i] += sum_gradient_[i];
  for (std::size_t c = 0; c < context_; ++c) {
    double* const out = gradient_.data() + input_weight_ + (c * vocab_ + sample[c]) * width_;
    for (std::size_t i = 0; i < width_; ++i) out[i] += sum_gradient_[i];
  }
}

double ReferenceModel::loss(std::span<float const> parameters, ReferenceBatch const& batch) {
  std::size_t const samples = batch.size() / (context_ + 1);
  ASSERT(samples > 0);
  double total = 0;
  for (std::size_t i = 0; i < samples; ++i)
    total += forward(parameters, std::span(batch).subspan(i * (context_ + 1), context_ + 1));
  return total / static_cast<double>(samples);
}

double ReferenceModel::loss_and_gradient(std::span<float const> parameters,
                                         ReferenceBatch const& batch) {
  std::size_t const samples = batch.size() / (context_ + 1);
  ASSERT(samples > 0);
  std::ranges::fill(gradient_, 0.0);
  double total = 0;
  for (std::size_t i = 0; i < samples; ++i) {
    auto const sample = std::span(batch).subspan(i * (context_ + 1), context_ + 1);
    total += forward(parameters, sample);
    backward(parameters, sample, 1 / static_cast<double>(samples));
  }
  return total / static_cast<double>(samples);
}

}  // namespace grapevine
