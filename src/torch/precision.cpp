#include "torch/precision_detail.hpp"

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <chrono>
#include <cmath>

namespace grapevine {
namespace {

constexpr std::int64_t probe_sequences = 4;
constexpr int probe_passes = 3;
// Below this width conversions cost more than bf16 products save, on every CPU that was measured.
constexpr std::uint32_t bf16_hidden_size_min = 192;

double seconds_of(Llama const& model, at::Tensor const& rows, c10::Device device, bool bf16) {
  double best = INFINITY;
  for (int pass = 0; pass <= probe_passes; ++pass) {
    auto const begin = std::chrono::steady_clock::now();
    {
      Autocast const autocast(device, bf16);
      auto const loss = model.loss(rows);
      torch::autograd::backward({loss}, {});
    }
    // Reading a value waits for a GPU to finish.
    bool const finite = std::isfinite(model.gradient().sum().item<float>());
    std::chrono::duration<double> const taken = std::chrono::steady_clock::now() - begin;
    if (!finite) return INFINITY;
    if (pass > 0) best = std::min(best, taken.count());  // the first one warms up
  }
  return best;
}

bool may_gain(ModelConfig const& config, c10::Device device) {
  if (config.hidden_size < bf16_hidden_size_min) return false;
  if (device.is_cuda()) return true;
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512bf16") != 0;
#else
  return false;
#endif
}

}  // namespace

Autocast::Autocast(c10::Device device, bool on) : type_(device.type()), on_(on) {
  if (!on_) return;
  at::autocast::increment_nesting();
  at::autocast::set_autocast_enabled(type_, true);
  at::autocast::set_autocast_dtype(type_, at::kBFloat16);
}

Autocast::~Autocast() {
  if (!on_) return;
  at::autocast::set_autocast_enabled(type_, false);
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
}

bool choose_precision(Precision wish, Llama const& model, ModelConfig const& config,
                      c10::Device device) {
  if (wish != Precision::automatic) return wish == Precision::bf16;
  if (!may_gain(config, device)) return false;
  auto const rows = at::zeros({probe_sequences, std::int64_t{config.context} + 1},
                              at::TensorOptions(device).dtype(at::kLong));
  double const plain = seconds_of(model, rows, device, false);
  double const mixed = seconds_of(model, rows, device, true);
  model.gradient().zero_();
  return mixed < plain;
}

Result<EvalReport> held_out_loss(
    Dataset const& data, std::uint32_t context, std::uint32_t windows, std::uint32_t at_once,
    std::function<Result<double>(at::Tensor const& rows)> const& loss) {
  std::uint64_t const count = data.held_out_windows(windows);
  std::int64_t const row = std::int64_t{context} + 1;
  double sum = 0;
  for (std::uint64_t first = 0; first < count; first += at_once) {
    auto const some = std::min<std::uint64_t>(at_once, count - first);
    auto rows = at::empty({static_cast<std::int64_t>(some), row}, at::kLong);
    auto* const to = rows.mutable_data_ptr<std::int64_t>();
    for (std::uint64_t i = 0; i < some; ++i) {
      TRY(data.held_out(first + i, count,
                        {to + i * static_cast<std::uint64_t>(row), static_cast<std::size_t>(row)}));
    }
    TRY_ASSIGN(double const mean, loss(rows));
    sum += mean * static_cast<double>(some);
  }
  double const mean = sum / static_cast<double>(count);
  if (!std::isfinite(mean)) return fail(Errc::not_finite, "the held-out loss");
  return EvalReport{.loss = static_cast<float>(mean), .tokens = count * context};
}

}  // namespace grapevine
