#include "grapevine/train/reference_trainer.hpp"

#include "grapevine/base/assert.hpp"
#include "grapevine/base/portable_math.hpp"
#include "grapevine/train/trainer_state.hpp"
#include "train/reference_model_detail.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace grapevine {
namespace {

// Seeds of different purposes must not give overlapping streams.
enum class Stream : std::uint64_t { parameters = 1, held_out = 2, samples = 3 };

std::uint64_t derive(std::uint64_t seed, Stream stream, std::uint64_t index = 0) {
  SeededRandom mix(seed ^ (static_cast<std::uint64_t>(stream) << 56));
  SeededRandom mixed(mix.next() + index);
  return mixed.next();
}

Result<> check(ReferenceOptions const& options) {
  auto const within = [](char const* field, std::uint32_t value, std::uint32_t low,
                         std::uint32_t high) -> Result<> {
    if (value >= low && value <= high) return {};
    return fail(Errc::config_invalid,
                fmt::format("{}: {} is not in {}..{}", field, value, low, high));
  };
  TRY(within("vocab", options.vocab, 2, 256));
  TRY(within("context", options.context, 1, 16));
  TRY(within("hidden", options.hidden, 0, 1024));
  TRY(within("eval_samples", options.eval_samples, 1, 1 << 20));
  return grapevine::check(options.settings);
}

class ReferenceTrainer final : public Trainer {
 public:
  ReferenceTrainer(ReferenceOptions const& options, TensorLayout const& layout)
      : options_(options),
        chain_(options),
        model_(options, layout),
        ranges_(decay_ranges(layout)),
        parameters_(model_.first_parameters(derive(options.run_seed, Stream::parameters))),
        moment1_(parameters_.size()),
        moment2_(parameters_.size()) {
    SeededRandom random(derive(options.run_seed, Stream::held_out));
    held_out_ = chain_.draw(random, options.eval_samples);
  }

  TensorLayout const& layout() const override { return model_.layout(); }
  TrainerInfo info() const override {
    TrainerInfo info;
    info.vocab = options_.vocab;
    return info;
  }

  void read(std::span<float> parameters) override {
    ASSERT(parameters.size() == parameters_.size());
    std::ranges::copy(parameters_, parameters.begin());
  }

  Result<> write(std::span<float const> parameters) override {
    TRY(check_parameters(layout(), parameters));
    std::ranges::copy(parameters, parameters_.begin());
    return {};
  }

  Result<InnerReport> run(InnerJob const& job, std::stop_token stop,
                          ProgressSink const& progress) override {
    InnerMeter meter(job, std::uint64_t{options_.settings.batch});
    for (std::uint32_t i = 0; i < job.steps && !stop.stop_requested(); ++i) {
      double const lr = learning_rate(options_.settings, job.first_step + i);
      TRY_ASSIGN(float const loss, step(job.first_step + i, lr));
      meter.add(loss, lr);
      if (auto const line = meter.progress((i + 1) * options_.seconds_per_step); line && progress)
        progress(*line);
    }
    return meter.report(meter.report(0).steps * options_.seconds_per_step);
  }

  Result<EvalReport> evaluate(std::stop_token) override {
    double const loss = model_.loss(parameters_, held_out_);
    if (!std::isfinite(loss)) return fail(Errc::not_finite, "the held-out loss");
    return EvalReport{.loss = static_cast<float>(loss), .tokens = options_.eval_samples};
  }

  // The context of the first tokens goes on at the end of the batch.
  Result<ProbeAnswer> probe(std::span<std::uint32_t const> tokens) override {
    ASSERT(!tokens.empty());
    ProbeAnswer answer;
    answer.vocab = options_.vocab;
    std::vector<std::uint8_t> context(options_.context);
    std::vector<float> logs(options_.vocab);
    for (std::size_t row = 0; row < tokens.size(); ++row) {
      for (std::size_t back = 0; back < context.size(); ++back) {
        auto const at = (row + context.size() * tokens.size() - back) % tokens.size();
        auto const token = tokens[at];
        ASSERT(token < options_.vocab);
        context[context.size() - 1 - back] = static_cast<std::uint8_t>(token);
      }
      auto const p = model_.probabilities(parameters_, context);
      std::ranges::transform(p, logs.begin(),
                             [](double x) { return static_cast<float>(finite_log(x)); });
      TRY(append_row(answer, logs));
    }
    return answer;
  }

  TrainerState save() override {
    return {.tensors = {{"exp_avg", shape(), moment1_}, {"exp_avg_sq", shape(), moment2_}},
            .position = position_,
            .optimizer_steps = optimizer_steps_};
  }

  Result<> restore(TrainerState const& state) override {
    TRY_ASSIGN(auto const moment1, state_tensor(state, "exp_avg", shape()));
    TRY_ASSIGN(auto const moment2, state_tensor(state, "exp_avg_sq", shape()));
    std::ranges::copy(moment1, moment1_.begin());
    std::ranges::copy(moment2, moment2_.begin());
    position_ = state.position;
    optimizer_steps_ = state.optimizer_steps;
    return {};
  }

 private:
  std::vector<std::int64_t> shape() const {
    return {static_cast<std::int64_t>(parameters_.size())};
  }

  // One step. On an error nothing has changed: the same batch is drawn again by the next try.
  Result<float> step(std::uint64_t number, double lr) {
    SeededRandom random(derive(options_.data_seed, Stream::samples, position_));
    double const loss =
        model_.loss_and_gradient(parameters_, chain_.draw(random, options_.settings.batch));
    double squares = number == options_.not_finite_at ? NAN : 0;
    for (double const g : model_.gradient()) squares += g * g;
    if (!std::isfinite(loss) || !std::isfinite(squares))
      return fail(Errc::not_finite, fmt::format("step {}: loss or gradient", number));
    double const norm = std::sqrt(squares);
    double const clip = options_.settings.clip_norm;
    ++position_;
    ++optimizer_steps_;
    update(lr, clip > 0 && norm > clip ? clip / norm : 1.0);
    return static_cast<float>(loss);
  }

  // AdamW, bias-corrected; `scale` clips the gradient.
  void update(double lr, double scale) {
    auto const& s = options_.settings;
    double const beta1 = s.beta1;
    double const beta2 = s.beta2;
    double const correction1 = 1 - portable::power(beta1, optimizer_steps_);
    double const correction2 = 1 - portable::power(beta2, optimizer_steps_);
    auto const apply = [&](ElementRange range, double decay) {
      for (std::size_t i = range.first; i < range.first + range.count; ++i) {
        double const g = model_.gradient()[i] * scale;
        double const m = beta1 * moment1_[i] + (1 - beta1) * g;
        double const v = beta2 * moment2_[i] + (1 - beta2) * g * g;
        double const p = parameters_[i] * (1 - lr * decay);
        moment1_[i] = static_cast<float>(m);
        moment2_[i] = static_cast<float>(v);
        parameters_[i] = static_cast<float>(p - lr * (m / correction1) /
                                                    (std::sqrt(v / correction2) + double{s.eps}));
      }
    };
    for (auto const range : ranges_.decayed) apply(range, s.weight_decay);
    for (auto const range : ranges_.plain) apply(range, 0);
  }

  ReferenceOptions options_;
  ReferenceChain chain_;
  ReferenceModel model_;
  DecayRanges ranges_;
  std::vector<float> parameters_;
  std::vector<float> moment1_;
  std::vector<float> moment2_;
  ReferenceBatch held_out_;
  std::uint64_t position_ = 0;
  std::uint64_t optimizer_steps_ = 0;
};

}  // namespace

Result<TensorLayout> reference_layout(ReferenceOptions const& options) {
  TRY(check(options));
  std::int64_t const vocab = options.vocab;
  std::int64_t const width = options.hidden > 0 ? options.hidden : options.vocab;
  std::vector<TensorSpec> tensors{
      {.name = "input.weight", .shape = {vocab * options.context, width}},
      {.name = "input.bias", .shape = {width}}};
  if (options.hidden > 0) {
    tensors.push_back({.name = "output.weight", .shape = {vocab, width}});
    tensors.push_back({.name = "output.bias", .shape = {vocab}});
  }
  return TensorLayout::make(std::move(tensors));
}

Result<std::unique_ptr<Trainer>> make_reference_trainer(ReferenceOptions const& options) {
  TRY_ASSIGN(auto const layout, reference_layout(options));
  return std::make_unique<ReferenceTrainer>(options, layout);
}

}  // namespace grapevine
