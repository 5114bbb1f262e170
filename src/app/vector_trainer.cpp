#include "app/vector_trainer.hpp"

#include "grapevine/base/assert.hpp"
#include "grapevine/mix/average.hpp"

#include <algorithm>
#include <thread>

namespace grapevine {
namespace {

class VectorTrainer final : public Trainer {
 public:
  VectorTrainer(TensorLayout layout, Duration step, float moved)
      : layout_(std::move(layout)), step_(step), moved_(moved), parameters_(layout_.elements()) {
    for (std::size_t i = 0; i < parameters_.size(); ++i)
      parameters_[i] = static_cast<float>(i % 1000);
  }

  TensorLayout const& layout() const override { return layout_; }
  TrainerInfo info() const override { return {}; }
  void read(std::span<float> parameters) override {
    ASSERT(parameters.size() == parameters_.size());
    std::ranges::copy(parameters_, parameters.begin());
  }
  Result<> write(std::span<float const> parameters) override {
    ASSERT(parameters.size() == parameters_.size());
    if (!all_finite(parameters)) return fail(Errc::not_finite, "in the parameters");
    std::ranges::copy(parameters, parameters_.begin());
    return {};
  }
  Result<InnerReport> run(InnerJob const& job, std::stop_token, ProgressSink const&) override {
    std::this_thread::sleep_for(step_ * job.steps);
    for (std::size_t i = 0; i < parameters_.size(); ++i)
      parameters_[i] -= moved_ * static_cast<float>(1 + i % 8191);
    return InnerReport{.steps = job.steps,
                       .tokens = job.steps,
                       .loss = 1,
                       .loss_last = 1,
                       .seconds = to_seconds(step_) * job.steps,
                       .lr = 1};
  }
  Result<EvalReport> evaluate(std::stop_token) override {
    return EvalReport{.loss = 1, .tokens = 1};
  }
  Result<ProbeAnswer> probe(std::span<std::uint32_t const>) override {
    return fail(Errc::unsupported, "a vector predicts nothing");
  }
  TrainerState save() override { return {}; }
  Result<> restore(TrainerState const&) override { return {}; }

 private:
  TensorLayout layout_;
  Duration step_;
  float moved_;
  std::vector<float> parameters_;
};

}  // namespace

Result<std::unique_ptr<Trainer>> make_vector_trainer(std::uint64_t elements, Duration step,
                                                     float moved) {
  TensorSpec vector;
  vector.name = "vector";
  vector.shape = {static_cast<std::int64_t>(elements)};
  TRY_ASSIGN(auto layout, TensorLayout::make({vector}));
  return std::make_unique<VectorTrainer>(std::move(layout), step, moved);
}

}  // namespace grapevine
