#include "grapevine/world/watched_trainer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace grapevine::world {
namespace {

class WatchedTrainer final : public Trainer {
 public:
  WatchedTrainer(std::unique_ptr<Trainer> inner, TrainerFaults faults, TrainerRecord& record)
      : inner_(std::move(inner)), faults_(std::move(faults)), record_(record) {
    record_.position = 0;
  }

  TensorLayout const& layout() const override { return inner_->layout(); }
  TrainerInfo info() const override { return inner_->info(); }
  void read(std::span<float> parameters) override { inner_->read(parameters); }

  Result<> write(std::span<float const> parameters) override {
    TRY(inner_->write(parameters));
    for (float const value : parameters)
      record_.largest = std::max(record_.largest, std::abs(double{value}));
    return {};
  }

  Result<InnerReport> run(InnerJob const& job, std::stop_token stop,
                          ProgressSink const& progress) override {
    ++record_.runs;
    if (record_.faults_over) return go_on(job, stop, progress);
    if (faults_.fails_at.contains(record_.runs))
      return fail(Errc::out_of_memory, "a planned failure of the trainer");
    if (auto const at = faults_.not_finite_at;
        at && *at >= job.first_step && *at < job.first_step + job.steps) {
      auto const before = static_cast<std::uint32_t>(*at - job.first_step);
      TRY(go_on({job.first_step, before}, stop, progress));
      return fail(Errc::not_finite, fmt::format("step {}: a planned NaN", *at));
    }
    return go_on(job, stop, progress);
  }

  Result<EvalReport> evaluate(std::stop_token stop) override { return inner_->evaluate(stop); }

  Result<ProbeAnswer> probe(std::span<std::uint32_t const> tokens) override {
    return inner_->probe(tokens);
  }

  TrainerState save() override {
    auto state = inner_->save();
    if (state.position < record_.position)
      blame(fmt::format("the data position is {} after {}", state.position, record_.position));
    record_.position = state.position;
    record_.saved.insert(state.position);
    return state;
  }

  Result<> restore(TrainerState const& state) override {
    if (!record_.saved.contains(state.position))
      blame(fmt::format("restored to the data position {}, which was never saved", state.position));
    if (state.position < record_.position)
      blame(fmt::format("from the data position {} back to {}", record_.position, state.position));
    record_.position = state.position;
    return inner_->restore(state);
  }

 private:
  Result<InnerReport> go_on(InnerJob const& job, std::stop_token stop,
                            ProgressSink const& progress) {
    TRY_ASSIGN(auto report, inner_->run(job, stop, progress));
    record_.position += report.steps;
    return report;
  }

  void blame(std::string fault) {
    if (record_.fault.empty()) record_.fault = std::move(fault);
  }

  std::unique_ptr<Trainer> inner_;
  TrainerFaults faults_;
  TrainerRecord& record_;
};

}  // namespace

Result<std::unique_ptr<Trainer>> make_watched_trainer(ReferenceOptions const& options,
                                                      TrainerFaults faults, TrainerRecord& record) {
  TRY_ASSIGN(auto inner, make_reference_trainer(options));
  return std::make_unique<WatchedTrainer>(std::move(inner), std::move(faults), record);
}

}  // namespace grapevine::world
