#include "app/trainer_factory.hpp"

#include "grapevine/base/log.hpp"
#include "grapevine/torch/torch_trainer.hpp"

namespace grapevine {

namespace {

TrainSettings settings_of(InnerOptimizer const& inner) {
  return {.lr = inner.lr,
          .lr_final = inner.lr_final,
          .warmup_steps = inner.warmup_steps,
          .schedule_steps = inner.schedule_steps,
          .beta1 = inner.beta1,
          .beta2 = inner.beta2,
          .eps = inner.eps,
          .weight_decay = inner.weight_decay,
          .clip_norm = inner.clip_norm,
          .batch = inner.batch,
          .accumulation = inner.accumulation};
}

Result<std::unique_ptr<Trainer>> make(TrainerChoice const& choice, RunManifest const& run,
                                      PeerId const& self) {
  TRY_ASSIGN(auto data, Dataset::open({.path = choice.data,
                                       .vocab_size = run.model.vocab_size,
                                       .context = run.model.context,
                                       .batch = run.inner.batch}));
  for (auto const& note : data.notes()) log_info("data: {}", note);
  log_info("data: {} files, {} tokens to train on, {} held out", data.files(),
           data.training_tokens(), data.held_out_tokens());
  TorchTrainerOptions options;
  options.model = run.model;
  options.settings = settings_of(run.inner);
  options.data = std::make_shared<Dataset const>(std::move(data));
  options.run_seed = run.seed;
  options.data_seed = sampling_seed(run.seed, self.bytes());
  options.device = choice.device;
  options.threads = choice.threads;
  return make_torch_trainer(std::move(options));
}

}  // namespace

std::function<Result<std::unique_ptr<Trainer>>(RunManifest const&, PeerId const&)> trainer_factory(
    TrainerChoice choice) {
  return [choice = std::move(choice)](RunManifest const& run, PeerId const& self) {
    return make(choice, run, self);
  };
}

}  // namespace grapevine
