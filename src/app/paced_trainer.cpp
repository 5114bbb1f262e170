#include "app/paced_trainer.hpp"

#include <utility>

namespace grapevine {
namespace {

class PacedTrainer final : public Trainer {
 public:
  PacedTrainer(std::unique_ptr<Trainer> inner, double seconds_per_step)
      : inner_(std::move(inner)), seconds_per_step_(seconds_per_step) {}

  TensorLayout const& layout() const override { return inner_->layout(); }
  TrainerInfo info() const override { return inner_->info(); }
  void read(std::span<float> parameters) override { inner_->read(parameters); }
  Result<> write(std::span<float const> parameters) override { return inner_->write(parameters); }

  Result<InnerReport> run(InnerJob const& job, std::stop_token stop,
                          ProgressSink const& progress) override {
    TRY_ASSIGN(auto report, inner_->run(job, stop, progress));
    report.seconds = report.steps * seconds_per_step_;
    return report;
  }

  Result<EvalReport> evaluate(std::stop_token stop) override { return inner_->evaluate(stop); }
  Result<ProbeAnswer> probe(std::span<std::uint32_t const> tokens) override {
    return inner_->probe(tokens);
  }
  TrainerState save() override { return inner_->save(); }
  Result<> restore(TrainerState const& state) override { return inner_->restore(state); }

 private:
  std::unique_ptr<Trainer> inner_;
  double seconds_per_step_;
};

}  // namespace

std::unique_ptr<Trainer> make_paced_trainer(std::unique_ptr<Trainer> inner,
                                            double seconds_per_step) {
  return std::make_unique<PacedTrainer>(std::move(inner), seconds_per_step);
}

}  // namespace grapevine
