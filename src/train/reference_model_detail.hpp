// ReferenceModel: the forward and backward pass of ReferenceTrainer's model over a batch, and the
// Markov chain its samples come from. Pure arithmetic in doubles, in one fixed order.
#pragma once

#include "grapevine/base/random.hpp"
#include "grapevine/train/reference_trainer.hpp"

#include <span>
#include <vector>

namespace grapevine {

// Samples one after another, each `context` symbols and then the one to predict.
using ReferenceBatch = std::vector<std::uint8_t>;

// The logarithm of a probability; of one that underflows about -700, not -infinity.
[[nodiscard]] double finite_log(double probability);

class ReferenceChain {
 public:
  explicit ReferenceChain(ReferenceOptions const& options);
  [[nodiscard]] ReferenceBatch draw(Random& random, std::uint32_t samples) const;

 private:
  [[nodiscard]] std::uint8_t next(Random& random, std::uint8_t symbol) const;

  std::uint32_t context_;
  std::vector<std::uint8_t> favourite_;  // the symbol that usually follows each one
};

class ReferenceModel {
 public:
  ReferenceModel(ReferenceOptions const& options, TensorLayout layout);

  [[nodiscard]] TensorLayout const& layout() const { return layout_; }
  [[nodiscard]] std::vector<float> first_parameters(std::uint64_t seed) const;
  // Of each symbol to come after the last `context` ones.
  [[nodiscard]] std::span<double const> probabilities(std::span<float const> parameters,
                                                      std::span<std::uint8_t const> context);
  [[nodiscard]] double loss(std::span<float const> parameters, ReferenceBatch const& batch);
  // The mean loss of the batch; its gradient, one double a parameter, is in gradient().
  [[nodiscard]] double loss_and_gradient(std::span<float const> parameters,
                                         ReferenceBatch const& batch);
  [[nodiscard]] std::span<double const> gradient() const { return gradient_; }

 private:
  double forward(std::span<float const> parameters, std::span<std::uint8_t const> sample);
  void predict(std::span<float const> parameters, std::span<std::uint8_t const> context);
  void backward(std::span<float const> parameters, std::span<std::uint8_t const> sample,
                double scale);

  TensorLayout layout_;
  std::size_t vocab_;
  std::size_t context_;
  std::size_t hidden_;
  std::size_t width_;
  std::size_t input_weight_ = 0;  // offsets in the flat vector
  std::size_t input_bias_ = 0;
  std::size_t output_weight_ = 0;
  std::size_t output_bias_ = 0;
  std::vector<double> sum_;          // [width] before the softsign
  std::vector<double> activation_;   // [hidden]
  std::vector<double> probability_;  // [vocab]
  std::vector<double> sum_gradient_;
  std::vector<double> gradient_;
};

}  // namespace grapevine
