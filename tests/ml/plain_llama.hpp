// The same transformer written a second time, in doubles and plain loops, straight from the papers:
// what the engine is compared with. It shares no code with it.
#pragma once

#include "grapevine/tensor/model_config.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace grapevine::plain {

using Vector = std::vector<double>;

class Llama {
 public:
  Llama(ModelConfig config, TensorLayout layout, Vector parameters);

  Vector& parameters() { return parameters_; }
  // One vector of logits a token.
  [[nodiscard]] std::vector<Vector> logits(std::span<std::int64_t const> tokens) const;
  // The mean loss over `sequences` rows.
  [[nodiscard]] double loss(std::span<std::int64_t const> rows, std::size_t sequences) const;

 private:
  [[nodiscard]] std::span<double const> tensor(std::string const& name) const;
  [[nodiscard]] Vector times(std::string const& name, Vector const& x) const;
  [[nodiscard]] Vector project(std::string const& name, Vector const& x) const;
  [[nodiscard]] Vector norm(std::string const& name, Vector const& x) const;
  void turn(Vector& heads, std::size_t position) const;
  [[nodiscard]] std::vector<Vector> attend(std::string const& prefix,
                                           std::vector<Vector> const& inputs) const;

  ModelConfig config_;
  TensorLayout layout_;
  Vector parameters_;
};

}  // namespace grapevine::plain
