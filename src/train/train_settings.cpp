#include "grapevine/train/train_settings.hpp"

#include "grapevine/base/limits.hpp"
#include "grapevine/base/portable_math.hpp"

#include <fmt/format.h>

namespace grapevine {
namespace {

// Comparisons are written so that a NaN fails them.
Result<> between(char const* field, float value, float low, float high) {
  if (value >= low && value <= high) return {};
  return fail(Errc::config_invalid,
              fmt::format("{}: {} is not in {}..{}", field, value, low, high));
}

void extend(std::vector<ElementRange>& ranges, TensorSpec const& tensor) {
  if (!ranges.empty() && ranges.back().first + ranges.back().count == tensor.offset)
    ranges.back().count += tensor.elements;
  else
    ranges.push_back({tensor.offset, tensor.elements});
}

}  // namespace

Result<> check(TrainSettings const& settings) {
  TRY(between("lr", settings.lr, 0, 100));
  TRY(between("lr_final", settings.lr_final, 0, 100));
  TRY(between("beta1", settings.beta1, 0, 0.9999F));
  TRY(between("beta2", settings.beta2, 0, 0.99999F));
  TRY(between("eps", settings.eps, 1e-30F, 1));
  TRY(between("weight_decay", settings.weight_decay, 0, 10));
  TRY(between("clip_norm", settings.clip_norm, 0, 1e6F));
  if (settings.batch < 1 || settings.batch > limits::batch_sequences_max)
    return fail(Errc::config_invalid, fmt::format("batch: {} is not in 1..{}", settings.batch,
                                                  limits::batch_sequences_max));
  if (settings.accumulation < 1 || settings.batch % settings.accumulation != 0)
    return fail(Errc::config_invalid, fmt::format("accumulation: {} does not divide batch {}",
                                                  settings.accumulation, settings.batch));
  return {};
}

double learning_rate(TrainSettings const& settings, std::uint64_t step) {
  double const high = settings.lr;
  double const low = settings.lr_final;
  if (step < settings.warmup_steps)
    return high * static_cast<double>(step + 1) / settings.warmup_steps;
  if (step >= settings.schedule_steps) return low;
  double const done = static_cast<double>(step - settings.warmup_steps) /
                      static_cast<double>(settings.schedule_steps - settings.warmup_steps);
  return low + (high - low) * 0.5 * (1 + portable::cos_pi(done));
}

DecayRanges decay_ranges(TensorLayout const& layout) {
  DecayRanges ranges;
  for (auto const& tensor : layout.tensors())
    extend(tensor.shape.size() >= 2 ? ranges.decayed : ranges.plain, tensor);
  return ranges;
}

}  // namespace grapevine
