#include "app/learning_swarm.hpp"

#include "grapevine/mix/outer_optimizer.hpp"
#include "grapevine/torch/torch_trainer.hpp"
#include "grapevine/world/swarm.hpp"

#include "app/mean.hpp"
#include "app/paced_trainer.hpp"
#include "app/trainer_factory.hpp"

#include <algorithm>
#include <array>
#include <span>

namespace grapevine {
namespace {

constexpr double seconds_per_step = 0.5;  // what a step takes on a simulated machine
constexpr std::uint32_t held_out_windows = 32;
constexpr std::uint32_t shards = 8;
constexpr std::uint32_t batch = 8;        // sequences a step of a peer
constexpr std::uint64_t first_of_js = 2;  // before, all are what they began with
constexpr Duration time_max = std::chrono::hours(24);

ModelConfig model() {
  ModelConfig config;
  config.hidden_size = 64;
  config.intermediate_size = 176;
  config.layers = 2;
  config.context = 64;
  return config;
}

void describe(RunManifest& run, LearningShape const& shape) {
  run.model = model();
  run.tokenizer = "bytes";
  run.outer = shape.outer;
  run.inner = {};
  run.inner.lr = static_cast<float>(shape.inner_lr);
  run.inner.lr_final = run.inner.lr / 10;
  run.inner.warmup_steps = 50;
  run.inner.schedule_steps = shape.rounds * shape.inner_steps;
  run.inner.batch = batch;
}

class HeldOut {
 public:
  static Result<HeldOut> open(LearningShape const& shape) {
    HeldOut opened;
    for (auto const& share : shape.shares) {
      TRY_ASSIGN(auto data, Dataset::open(learning_data(share)));
      opened.data_.push_back(std::move(data));
    }
    return opened;
  }
  [[nodiscard]] Result<double> loss(std::span<float const> parameters) const {
    std::vector<Dataset const*> all;
    for (auto const& data : data_) all.push_back(&data);
    TRY_ASSIGN(auto const report, evaluate_model(model(), parameters, all, held_out_windows));
    return double{report.loss};
  }

 private:
  std::vector<Dataset> data_;
};

world::SwarmOptions options_of(LearningShape const& shape) {
  world::SwarmOptions options;
  options.seed = shape.seed;
  options.peers = shape.shares.size();
  options.rounds = shape.rounds;
  options.inner_steps = shape.inner_steps;
  options.mixing = shape.mixing;
  options.shards = shards;
  options.change_run = [shape](RunManifest& run) { describe(run, shape); };
  options.make_trainer = [shape](std::size_t machine, RunManifest const& run,
                                 PeerId const& self) -> Result<std::unique_ptr<Trainer>> {
    auto const make = trainer_factory({shape.shares[machine], "cpu", 1});
    TRY_ASSIGN(auto trainer, make(run, self));
    return make_paced_trainer(std::move(trainer), seconds_per_step);
  };
  return options;
}

// Breaks links and mends them, round after round.
class Outages {
 public:
  Outages(world::Swarm& swarm, LearningShape const& shape)
      : swarm_(swarm),
        peers_(shape.shares.size()),
        probability_(shape.link_failure),
        lasts_(from_seconds(shape.inner_steps * seconds_per_step)) {
    if (probability_ > 0) swarm_.world.at(swarm_.world.now() + lasts_, [this] { next(); });
  }
  Outages(Outages const&) = delete;

 private:
  void next() {
    auto& world = swarm_.world;
    for (std::size_t one = 0; one < peers_; ++one)
      for (std::size_t other = one + 1; other < peers_; ++other) {
        bool const down = world.random().unit() < probability_;
        if (!down) {
          world.reset_link(one, other);
          world.reset_link(other, one);
          continue;
        }
        world.set_links_between(one, other, {sim::rules::refuse()});
        world.cut_connections(one, other);
      }
    world.at(world.now() + lasts_, [this] { next(); });
  }

  world::Swarm& swarm_;
  std::size_t peers_;
  double probability_;
  Duration lasts_;
};

// How much of what the others brought this peer's own had mixed in.
double mixed_share(LedgerEntry const& entry, std::size_t others, std::uint32_t of) {
  bool const pair = entry.mix == MixPattern::pair;
  double share = 0;
  for (auto const& input : entry.inputs) share += static_cast<double>(input.shards) / of;
  share = std::max(0.0, share - 1);  // its own
  return pair ? share : share / static_cast<double>(others);
}

Result<Learned> measure(world::Swarm& swarm, LearningShape const& shape) {
  TRY_ASSIGN(auto const held_out, HeldOut::open(shape));
  TRY_ASSIGN(auto const layout, model_layout(model()));
  Learned learned;
  Mean mixed, js;
  auto const peers = static_cast<double>(shape.shares.size());
  std::vector<float> mean(layout.elements());
  for (auto const& [machine, ending] : swarm.endings) {
    if (!ending.error.empty()) return fail(Errc::cancelled, ending.error);
    TRY_ASSIGN(auto const last, swarm.checkpoint(machine, shape.rounds, layout));
    TRY_ASSIGN(auto const loss, held_out.loss(last.parameters));
    learned.loss += loss / peers;
    for (std::size_t i = 0; i < mean.size(); ++i)
      mean[i] += last.parameters[i] / static_cast<float>(peers);
    TRY_ASSIGN(auto const ledger, swarm.ledger(machine));
    for (auto const& entry : ledger) {
      if (entry->mix == MixPattern::none) continue;
      bool const momentum = entry->lane == MixLane::parameters && shape.mixing.mix1_momentum;
      mixed.add(mixed_share(*entry, shape.shares.size() - 1, momentum ? 2 * shards : shards));
      if (entry->js && entry->round >= first_of_js) js.add(double{*entry->js});
    }
    learned.bytes +=
        swarm.node(machine).snapshot().network.bytes_out / shape.shares.size() / shape.rounds;
  }
  learned.mixed = mixed.value_or(0);
  learned.js = js.value_or(0);
  TRY_ASSIGN(learned.loss_mean, held_out.loss(mean));
  return learned;
}

// Of one model.
Result<Learned> shown(std::span<float const> parameters, LearningShape const& shape) {
  TRY_ASSIGN(auto const held_out, HeldOut::open(shape));
  Learned learned;
  TRY_ASSIGN(learned.loss, held_out.loss(parameters));
  learned.loss_mean = learned.loss;
  return learned;
}

Result<Learned> learn_by(LearningShape const& shape, TrainerChoice const& choice,
                         std::uint32_t batches) {
  RunManifest run;
  run.seed = shape.seed;
  describe(run, shape);
  run.inner.batch *= batches;
  std::array<std::uint8_t, 32> const nobody{};
  auto const self = PeerId::from_ed25519(nobody);
  TRY_ASSIGN(auto const trainer, trainer_factory(choice)(run, self));
  auto const steps = static_cast<std::uint32_t>(shape.rounds * shape.inner_steps);
  TRY(trainer->run({0, steps}, {}, {}));
  std::vector<float> parameters(trainer->layout().elements());
  trainer->read(parameters);
  return shown(parameters, shape);
}

}  // namespace

DatasetOptions learning_data(std::string path) {
  auto const config = model();
  return {.path = std::move(path),
          .vocab_size = config.vocab_size,
          .context = config.context,
          .batch = batch};
}

Result<Learned> learn_together(LearningShape const& shape) {
  world::Swarm swarm(options_of(shape));
  Outages const outages(swarm, shape);
  bool const ended = swarm.world.run_for(time_max, [&] { return swarm.all_ended(); });
  if (!ended) return fail(Errc::timed_out, "the swarm has not come to its end in a day");
  return measure(swarm, shape);
}

Result<Learned> learn_synchronously(LearningShape const& shape) {
  auto const peers = static_cast<std::uint32_t>(shape.shares.size());
  return learn_by(shape, {shape.all, "cpu", 1}, peers);
}

Result<Learned> learn_by_the_formula(LearningShape const& shape) {
  RunManifest run;
  run.seed = shape.seed;
  describe(run, shape);
  std::vector<std::unique_ptr<Trainer>> trainers;
  for (std::size_t i = 0; i < shape.shares.size(); ++i) {
    std::array<std::uint8_t, 32> key{};
    key[0] = static_cast<std::uint8_t>(i);
    auto const make = trainer_factory({shape.shares[i], "cpu", 1});
    TRY_ASSIGN(auto trainer, make(run, PeerId::from_ed25519(key)));
    trainers.push_back(std::move(trainer));
  }
  std::vector<float> z(trainers.front()->layout().elements()), theta(z.size());
  std::vector<float> momentum(z.size()), gradient(z.size());
  trainers.front()->read(z);
  OuterSettings const outer{shape.outer.lr, shape.outer.momentum, shape.outer.nesterov};
  for (std::uint64_t round = 0; round < shape.rounds; ++round) {
    std::ranges::fill(gradient, 0.0F);
    for (auto const& trainer : trainers) {
      TRY(trainer->write(z));
      TRY(trainer->run({round * shape.inner_steps, shape.inner_steps}, {}, {}));
      trainer->read(theta);
      for (std::size_t i = 0; i < z.size(); ++i)
        gradient[i] += (z[i] - theta[i]) / static_cast<float>(trainers.size());
    }
    outer_step(outer, gradient, momentum, z);
  }
  return shown(z, shape);
}

Result<Learned> learn_alone(LearningShape const& shape) {
  return learn_by(shape, {shape.shares.front(), "cpu", 1}, 1);
}

}  // namespace grapevine
