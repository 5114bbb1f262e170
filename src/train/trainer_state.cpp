#include "grapevine/train/trainer_state.hpp"

#include <fmt/format.h>

namespace grapevine {
namespace {

constexpr double progress_every_s = 0.5;
constexpr std::uint32_t tail_fraction = 10;
}  // namespace

Result<std::span<float const>> state_tensor(TrainerState const& state, std::string_view name,
                                            std::vector<std::int64_t> const& shape) {
  for (auto const& tensor : state.tensors) {
    if (tensor.name != name) continue;
    std::uint64_t elements = 1;
    for (auto const dimension : shape) elements *= static_cast<std::uint64_t>(dimension);
    if (tensor.shape != shape || tensor.values.size() != elements)
      return fail(Errc::schema_mismatch, fmt::format("{}: not of the expected shape", name));
    return std::span<float const>(tensor.values);
  }
  return fail(Errc::schema_mismatch, fmt::format("{}: missing", name));
}

Result<> check_parameters(TensorLayout const& layout, std::span<float const> parameters) {
  if (parameters.size() != layout.elements())
    return fail(Errc::schema_mismatch, fmt::format("{} parameters where the model has {}",
                                                   parameters.size(), layout.elements()));
  // 0 x is NaN exactly when x is NaN or infinite; a sum of such products is quick and order-free.
  for (auto const& tensor : layout.tensors()) {
    float sum = 0;
    for (auto const value : parameters.subspan(tensor.offset, tensor.elements)) sum += value * 0.0F;
    if (!(sum == 0.0F))
      return fail(Errc::not_finite, tensor.name + " holds a value that is not a number");
  }
  return {};
}

InnerMeter::InnerMeter(InnerJob const& job, std::uint64_t tokens_per_step)
    : tokens_per_step_(tokens_per_step), tail_first_(job.steps - job.steps / tail_fraction) {}

void InnerMeter::add(float loss, double lr) {
  ++report_.steps;
  report_.tokens += tokens_per_step_;
  report_.lr = lr;
  loss_sum_ += loss;
  since_sum_ += loss;
  ++since_steps_;
  if (report_.steps > tail_first_) {
    tail_sum_ += loss;
    ++tail_steps_;
  }
  report_.loss_last = loss;
}

std::optional<InnerProgress> InnerMeter::progress(double elapsed_s) {
  double const span_s = elapsed_s - since_s_;
  if (span_s < progress_every_s || since_steps_ == 0) return std::nullopt;
  InnerProgress const line{
      .step = report_.steps,
      .loss = static_cast<float>(since_sum_ / since_steps_),
      .tokens_per_s = static_cast<double>(tokens_per_step_) * since_steps_ / span_s,
      .lr = report_.lr};
  since_sum_ = 0;
  since_steps_ = 0;
  since_s_ = elapsed_s;
  return line;
}

InnerReport InnerMeter::report(double elapsed_s) const {
  InnerReport report = report_;
  report.seconds = elapsed_s;
  if (report.steps > 0) report.loss = static_cast<float>(loss_sum_ / report.steps);
  if (tail_steps_ > 0) report.loss_last = static_cast<float>(tail_sum_ / tail_steps_);
  return report;
}

}  // namespace grapevine
