// Helpers that every Trainer needs for its state and its report. Pure; no clock: the caller says
// what time it is. Used on the train worker's thread.
#pragma once

#include "grapevine/train/trainer.hpp"

#include <optional>
#include <span>
#include <string_view>

namespace grapevine {

// The values of tensor `name`, which must have `shape`; Errc::schema_mismatch names it.
[[nodiscard]] Result<std::span<float const>> state_tensor(TrainerState const& state,
                                                          std::string_view name,
                                                          std::vector<std::int64_t> const& shape);

// Errc::schema_mismatch when sizes differ, Errc::not_finite names the tensor of the first NaN/Inf.
[[nodiscard]] Result<> check_parameters(TensorLayout const& layout,
                                        std::span<float const> parameters);

// Collects the losses of one InnerJob into its progress lines and its report.
class InnerMeter {
 public:
  InnerMeter(InnerJob const& job, std::uint64_t tokens_per_step);

  void add(float loss, double lr);
  // Progress since the last call that gave one; nothing until half a second has passed.
  [[nodiscard]] std::optional<InnerProgress> progress(double elapsed_s);
  [[nodiscard]] InnerReport report(double elapsed_s) const;

 private:
  std::uint64_t tokens_per_step_;
  std::uint32_t tail_first_;  // the last tenth begins here
  InnerReport report_;
  double loss_sum_ = 0;
  double tail_sum_ = 0;
  std::uint32_t tail_steps_ = 0;
  double since_sum_ = 0;
  std::uint32_t since_steps_ = 0;
  double since_s_ = 0;
};

}  // namespace grapevine
