#include "grapevine/world/scenario.hpp"

#include "world/faults_detail.hpp"

#include <fmt/format.h>

namespace grapevine::world {
namespace {

constexpr Duration faults_last = 60s;
// So slow that a round is long beside the pulse of the beacons, as in any real run, and so few of
// them that a world costs little.
constexpr sim::WorkCost step{800ms, 1200ms};

sim::NodeOptions draw_machine(Random& random) {
  auto machine = usual_machine;
  machine.train = step;
  if (exists(random)) machine.wall_offset = from_seconds(7200 * (random.unit() - 0.5));
  if (exists(random))
    machine.clock_fast_ppm = static_cast<std::int64_t>(random.below(10'001)) - 5'000;
  if (exists(random)) {
    auto const slower = static_cast<std::int64_t>(2 + random.below(3));
    machine.train = {machine.train.min * slower, machine.train.max * slower};
  }
  if (exists(random)) machine.heavy.max *= static_cast<std::int64_t>(2 + random.below(20));
  return machine;
}

TrainerFaults draw_trainer(Random& random) {
  TrainerFaults faults;
  if (exists(random)) faults.not_finite_at = random.below(50);
  if (exists(random))
    for (auto left = 1 + random.below(3); left > 0; --left)
      faults.fails_at.insert(1 + random.below(60));
  return faults;
}

std::vector<std::set<Bent>> draw_hostile(Random& random) {
  std::vector<std::set<Bent>> hostile;
  if (!exists(random)) return hostile;
  auto& ways = hostile.emplace_back();
  for (auto left = 1 + random.below(4); left > 0; --left)
    ways.insert(static_cast<Bent>(random.below(bent_kinds)));
  return hostile;
}

// Any two mixings, apart from what else is drawn.
Mixing draw_pair_of_mixings(std::uint64_t seed) {
  SeededRandom random(seed);
  Mixing mixing;
  do {
    mixing.mix1 = static_cast<MixPattern>(random.below(3));
    mixing.mix2 = static_cast<MixPattern>(random.below(3));
  } while (mixing.one_state() || mixing.nothing());
  mixing.mix1_momentum = mixing.mix1 != MixPattern::none && exists(random);
  return mixing;
}

// In one world of three; those whose merges are computed again send fp32.
void draw_codecs(SwarmOptions& swarm) {
  SeededRandom random(swarm.seed + 1);
  if (random.below(3) > 0 || swarm.witness || swarm.mixing.joint) return;
  auto const draw = [&random](std::size_t count) { return codecs[random.below(count)]; };
  if (swarm.mixing.mix1 != MixPattern::none) swarm.mixing.mix1_codec = draw(codecs.size() - 1);
  if (swarm.mixing.mix2 != MixPattern::none) swarm.mixing.mix2_codec = draw(codecs.size());
  swarm.mixing.error_decay = exists(random) ? 1.0F : 0.9F;
}

Mixing draw_mixing(Random& random, std::uint64_t seed) {
  auto const drawn = random.below(10);
  if (drawn < 5) return {};
  if (drawn < 7) return draw_pair_of_mixings(seed);
  if (drawn < 9) return {.mix1 = MixPattern::pair, .mix2 = MixPattern::pair, .joint = true};
  return {.mix2 = MixPattern::none};
}

std::string text_of(Mixing const& mixing) {
  if (mixing.joint) return "parameters and gradients with one other";
  return fmt::format("parameters {} ({}), gradients {} ({})", to_string(mixing.mix1),
                     codec_name(mixing.mix1_codec), to_string(mixing.mix2),
                     codec_name(mixing.mix2_codec));
}

SwarmOptions draw_swarm(Random& random, std::uint64_t seed) {
  SwarmOptions swarm;
  swarm.seed = seed;
  swarm.peers = 3 + random.below(3);
  swarm.rounds = exists(random) ? 2 + random.below(6) : 0;
  swarm.inner_steps = static_cast<std::uint32_t>(6 + random.below(8));
  swarm.mixing = draw_mixing(random, seed);
  swarm.shards = static_cast<std::uint32_t>(1 + random.below(4));
  swarm.hidden = 4;
  auto const delay = from_seconds(0.001 + 0.1 * random.unit());
  auto const jitter = from_seconds(0.001 + 0.05 * random.unit());
  swarm.link = {sim::rules::delay(delay), sim::rules::jitter(jitter)};
  for (std::size_t i = 0; i < swarm.peers; ++i) {
    swarm.machines[i] = draw_machine(random);
    swarm.trainers[i] = draw_trainer(random);
  }
  swarm.hostile = draw_hostile(random);
  swarm.witness = exists(random);
  draw_codecs(swarm);
  return swarm;
}

std::string text_of(sim::NodeOptions const& machine, TrainerFaults const& trainer) {
  auto text = fmt::format("a step takes {:.1f} s, heavy work up to {:.3f} s",
                          to_seconds(machine.train.max), to_seconds(machine.heavy.max));
  if (machine.wall_offset != Duration{})
    text += fmt::format(", its wall clock is {:+.0f} s off", to_seconds(machine.wall_offset));
  if (machine.clock_fast_ppm != 0)
    text += fmt::format(", its clocks run {:+} ppm", machine.clock_fast_ppm);
  if (trainer.not_finite_at)
    text += fmt::format(", step {} is not a number", *trainer.not_finite_at);
  for (auto const run : trainer.fails_at) text += fmt::format(", training {} fails", run);
  return text;
}

}  // namespace

std::string Scenario::text() const {
  auto text =
      fmt::format("seed {}: {} peers mix {}, {} inner steps, {} shards, {}\n", swarm.seed,
                  swarm.peers, text_of(swarm.mixing), swarm.inner_steps, swarm.shards,
                  swarm.rounds == 0 ? "no last round" : fmt::format("{} rounds", swarm.rounds));
  for (auto const& [machine, options] : swarm.machines)
    text += fmt::format("  peer {}: {}\n", machine, text_of(options, swarm.trainers.at(machine)));
  for (auto const& ways : swarm.hostile) {
    text += "  a hostile peer:";
    for (auto const bent : ways) text += fmt::format(" {};", to_string(bent));
    text += '\n';
  }
  if (swarm.witness) text += "  a witness listens\n";
  for (auto const& fault : faults)
    text += fmt::format("  {:7.3f} s  {}\n", to_seconds(fault.at), fault.text);
  return text;
}

Scenario draw_scenario(std::uint64_t seed) {
  SeededRandom random(seed);
  Scenario scenario;
  scenario.swarm = draw_swarm(random, seed);
  scenario.faults_last = faults_last;
  scenario.faults = draw_faults(random, scenario.swarm, faults_last);
  return scenario;
}

}  // namespace grapevine::world
