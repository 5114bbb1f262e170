#include "grapevine/torch/torch_trainer.hpp"

#include "grapevine/base/assert.hpp"
#include "grapevine/train/initial_parameters.hpp"
#include "grapevine/train/trainer_state.hpp"
#include "torch/device_detail.hpp"
#include "torch/llama_detail.hpp"
#include "torch/precision_detail.hpp"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <chrono>
#include <cmath>

namespace grapevine {
namespace {

class Stopwatch {
 public:
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

at::Tensor on_device(std::span<float const> values, c10::Device device) {
  // The tensor only reads the span, and is copied before it is gone.
  return at::from_blob(const_cast<float*>(values.data()),
                       {static_cast<std::int64_t>(values.size())}, at::kFloat)
      .to(device, at::kFloat, false, true);
}

void copy_out(at::Tensor const& from, std::span<float> to) {
  at::from_blob(to.data(), {static_cast<std::int64_t>(to.size())}, at::kFloat).copy_(from);
}

std::vector<at::Tensor> cut(at::Tensor const& flat, std::vector<ElementRange> const& ranges) {
  std::vector<at::Tensor> parts;
  for (auto const range : ranges)
    parts.push_back(flat.narrow(0, static_cast<std::int64_t>(range.first),
                                static_cast<std::int64_t>(range.count)));
  return parts;
}

// AdamW over ranges of the flat vectors, by LibTorch's fused kernel.
class AdamW {
 public:
  AdamW(TrainSettings const& settings, at::Tensor const& parameters, at::Tensor const& gradient,
        DecayRanges const& ranges)
      : settings_(settings),
        moment1_(at::zeros_like(parameters)),
        moment2_(at::zeros_like(parameters)),
        clip_(at::ones({}, parameters.options())),
        count_(at::zeros({}, parameters.options())) {
    add(parameters, gradient, ranges.decayed, settings.weight_decay);
    add(parameters, gradient, ranges.plain, 0);
  }

  void step(double lr, double gradient_norm) {
    double const max = settings_.clip_norm;
    ++steps_;
    count_.fill_(static_cast<double>(steps_));
    clip_.fill_(max > 0 && gradient_norm > max ? gradient_norm / max : 1.0);  // divides
    for (auto& group : groups_)
      at::_fused_adamw_(group.parameters, group.gradient, group.moment1, group.moment2, {},
                        group.counts, lr, settings_.beta1, settings_.beta2, group.decay,
                        settings_.eps, false, false, clip_);
  }

  [[nodiscard]] at::Tensor const& moment1() const { return moment1_; }
  [[nodiscard]] at::Tensor const& moment2() const { return moment2_; }
  [[nodiscard]] std::uint64_t steps() const { return steps_; }
  void set_steps(std::uint64_t steps) { steps_ = steps; }

 private:
  struct Group {
    std::vector<at::Tensor> parameters;
    std::vector<at::Tensor> gradient;
    std::vector<at::Tensor> moment1;
    std::vector<at::Tensor> moment2;
    std::vector<at::Tensor> counts;
    double decay = 0;
  };

  void add(at::Tensor const& parameters, at::Tensor const& gradient,
           std::vector<ElementRange> const& ranges, float decay) {
    if (ranges.empty()) return;
    groups_.push_back({cut(parameters, ranges), cut(gradient, ranges), cut(moment1_, ranges),
                       cut(moment2_, ranges), std::vector<at::Tensor>(ranges.size(), count_),
                       decay});
  }

  TrainSettings settings_;
  at::Tensor moment1_;
  at::Tensor moment2_;
  at::Tensor clip_;
  at::Tensor count_;
  std::vector<Group> groups_;
  std::uint64_t steps_ = 0;
};

class TorchTrainer final : public Trainer {
 public:
  TorchTrainer(TorchTrainerOptions options, TensorLayout layout, c10::Device device,
               std::span<float const> parameters)
      : options_(std::move(options)),
        layout_(std::move(layout)),
        device_(device),
        parameters_(on_device(parameters, device)),
        model_(options_.model, layout_, parameters_, Gradients::flat),
        optimizer_(options_.settings, parameters_, model_.gradient(), decay_ranges(layout_)),
        bf16_(choose_precision(options_.precision, model_, options_.model, device)) {}

  TensorLayout const& layout() const override { return layout_; }

  TrainerInfo info() const override {
    return {.device = device_.str(),
            .dtype = bf16_ ? "bf16" : "fp32",
            .threads = static_cast<std::uint32_t>(at::get_num_threads()),
            .vocab = options_.model.vocab_size};
  }

  void read(std::span<float> parameters) override {
    ASSERT(parameters.size() == layout_.elements());
    copy_out(parameters_, parameters);
  }

  Result<> write(std::span<float const> parameters) override {
    TRY(check_parameters(layout_, parameters));
    return guarded([&]() -> Result<> {
      parameters_.copy_(on_device(parameters, c10::kCPU));
      return {};
    });
  }

  Result<InnerReport> run(InnerJob const& job, std::stop_token stop,
                          ProgressSink const& progress) override {
    return guarded([&] { return run_steps(job, stop, progress); });
  }

  Result<EvalReport> evaluate(std::stop_token stop) override {
    return guarded([&] { return run_evaluation(stop); });
  }

  Result<ProbeAnswer> probe(std::span<std::uint32_t const> tokens) override {
    return guarded([&] { return run_probe(tokens); });
  }

  TrainerState save() override {
    TrainerState state{.tensors = {{"exp_avg", shape(), {}}, {"exp_avg_sq", shape(), {}}},
                       .position = position_,
                       .optimizer_steps = optimizer_.steps()};
    for (auto& tensor : state.tensors) tensor.values.resize(layout_.elements());
    copy_out(optimizer_.moment1(), state.tensors[0].values);
    copy_out(optimizer_.moment2(), state.tensors[1].values);
    return state;
  }

  Result<> restore(TrainerState const& state) override {
    TRY_ASSIGN(auto const moment1, state_tensor(state, "exp_avg", shape()));
    TRY_ASSIGN(auto const moment2, state_tensor(state, "exp_avg_sq", shape()));
    return guarded([&]() -> Result<> {
      optimizer_.moment1().copy_(on_device(moment1, c10::kCPU));
      optimizer_.moment2().copy_(on_device(moment2, c10::kCPU));
      optimizer_.set_steps(state.optimizer_steps);
      position_ = state.position;
      return {};
    });
  }

 private:
  std::vector<std::int64_t> shape() const {
    return {static_cast<std::int64_t>(layout_.elements())};
  }

  Result<InnerReport> run_steps(InnerJob const& job, std::stop_token const& stop,
                                ProgressSink const& progress) {
    Stopwatch const watch;
    auto const& settings = options_.settings;
    InnerMeter meter(job, std::uint64_t{settings.batch} * options_.model.context);
    for (std::uint32_t i = 0; i < job.steps && !stop.stop_requested(); ++i) {
      double const lr = learning_rate(settings, job.first_step + i);
      TRY_ASSIGN(float const loss, step(job.first_step + i, lr));
      meter.add(loss, lr);
      if (auto const line = meter.progress(watch.seconds()); line && progress) progress(*line);
    }
    return meter.report(watch.seconds());
  }

  // One optimizer step. Only a finite gradient is applied, and only then do positions advance.
  Result<float> step(std::uint64_t number, double lr) {
    auto const& settings = options_.settings;
    TRY_ASSIGN(auto const rows, next_batch());
    auto loss = at::zeros({}, parameters_.options());
    model_.gradient().zero_();
    for (auto const& part : rows.chunk(settings.accumulation)) {
      Autocast const autocast(device_, bf16_);
      auto const part_loss = model_.loss(part) / static_cast<double>(settings.accumulation);
      torch::autograd::backward({part_loss}, {});
      loss.add_(part_loss.detach());
    }
    auto const figures = at::stack({loss, model_.gradient().norm()}).cpu();
    float const mean = figures[0].item<float>();
    float const norm = figures[1].item<float>();
    if (!std::isfinite(mean) || !std::isfinite(norm))
      return fail(Errc::not_finite,
                  fmt::format("step {}: loss {}, norm of the gradient {}", number, mean, norm));
    at::NoGradGuard const no_grad;
    optimizer_.step(lr, norm);
    ++position_;
    return mean;
  }

  Result<at::Tensor> next_batch() const {
    std::int64_t const row = std::int64_t{options_.model.context} + 1;
    auto rows = at::empty({options_.settings.batch, row}, at::kLong);
    TRY(options_.data->sample(
        options_.data_seed, position_,
        {rows.mutable_data_ptr<std::int64_t>(), static_cast<std::size_t>(rows.numel())}));
    return rows.to(device_);
  }

  Result<EvalReport> run_evaluation(std::stop_token const& stop) const {
    at::NoGradGuard const no_grad;
    auto const at_once = options_.settings.batch / options_.settings.accumulation;
    return held_out_loss(*options_.data, options_.model.context, options_.eval_windows, at_once,
                         [&](at::Tensor const& rows) -> Result<double> {
                           if (stop.stop_requested()) return fail(Errc::cancelled, "evaluation");
                           Autocast const autocast(device_, bf16_);
                           return model_.loss(rows.to(device_)).item<double>();
                         });
  }

  // In fp32 whatever training computes in: rounding to bf16 is no disagreement.
  Result<ProbeAnswer> run_probe(std::span<std::uint32_t const> tokens) const {
    at::NoGradGuard const no_grad;
    ProbeAnswer answer;
    answer.vocab = options_.model.vocab_size;
    for (std::size_t from = 0; from < tokens.size(); from += options_.model.context) {
      auto const part =
          tokens.subspan(from, std::min<std::size_t>(tokens.size() - from, options_.model.context));
      std::vector<std::int64_t> ids(part.begin(), part.end());
      ASSERT(std::ranges::max(part) < answer.vocab);
      auto const row = at::tensor(ids, at::kLong).unsqueeze(0).to(device_);
      auto const logs =
          at::log_softmax(model_.logits(row), 1, at::kFloat).to(at::kCPU, at::kFloat).contiguous();
      for (std::size_t i = 0; i < part.size(); ++i) {
        std::span const all(logs.const_data_ptr<float>() + i * answer.vocab, answer.vocab);
        TRY(append_row(answer, all));
      }
    }
    return answer;
  }

  TorchTrainerOptions options_;
  TensorLayout layout_;
  c10::Device device_;
  at::Tensor parameters_;
  Llama model_;
  AdamW optimizer_;
  bool bf16_;
  std::uint64_t position_ = 0;
};

}  // namespace

Result<std::unique_ptr<Trainer>> make_torch_trainer(TorchTrainerOptions options) {
  TRY(check(options.settings));
  TRY_ASSIGN(auto layout, model_layout(options.model));
  if (options.data == nullptr) return fail(Errc::data_missing, "a trainer without data");
  return guarded([&]() -> Result<std::unique_ptr<Trainer>> {
    TRY_ASSIGN(auto const device, choose_device(options.device));
    auto const sequences = options.settings.batch / options.settings.accumulation;
    TRY(check_memory(device, training_bytes(options.model, layout.elements(), sequences)));
    set_threads(options.threads);
    TRY_ASSIGN(auto const parameters, initial_parameters(options.model, options.run_seed));
    return std::make_unique<TorchTrainer>(std::move(options), std::move(layout), device,
                                          parameters);
  });
}

}  // namespace grapevine
