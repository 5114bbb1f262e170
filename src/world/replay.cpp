#include "world/replay_detail.hpp"

#include "grapevine/base/limits.hpp"
#include "grapevine/crypto/merkle.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

namespace grapevine::world {
namespace {

constexpr double tolerance = 1e-4;  // of a float that went through a few operations

Hash root_of(ByteView bytes) { return merkle_root(merkle_leaves(bytes, limits::blob_chunk_bytes)); }

std::vector<BlobRef> refs_of(std::vector<float> const& values, std::uint32_t shards) {
  std::vector<BlobRef> refs;
  auto const* const bytes = reinterpret_cast<std::uint8_t const*>(values.data());
  for (std::uint32_t i = 0; i < shards; ++i) {
    auto const range = shard_range(values.size(), shards, i);
    ByteView const shard(bytes + range.first * sizeof(float), range.count * sizeof(float));
    refs.push_back({root_of(shard), shard.size()});
  }
  return refs;
}

Hash state_hash(Checkpoint const& checkpoint, std::uint32_t shards) {
  StateDescriptor state;
  if (checkpoint.round > 0) state.run = checkpoint.run;
  state.round = checkpoint.round;
  state.parameters = refs_of(checkpoint.parameters, shards);
  state.momentum = refs_of(checkpoint.outer_momentum, shards);
  return root_of(encode(state));
}

struct Step {
  Checkpoint before;
  Checkpoint after;
  OuterOptimizer outer;
};

// The checkpoints on both sides of an entry, if they are there and of these very states.
std::optional<Step> step_of(Swarm& swarm, std::size_t machine, LedgerEntry const& entry) {
  auto const run = swarm.node(machine).snapshot().run;
  auto before = swarm.checkpoint(machine, entry.round);
  auto after = swarm.checkpoint(machine, entry.round + 1);
  if (!run || !before || !after) return std::nullopt;
  if (state_hash(*before, run->shards) != entry.before) return std::nullopt;
  if (state_hash(*after, run->shards) != entry.after) return std::nullopt;
  return Step{std::move(*before), std::move(*after), run->outer};
}

bool close_to(double value, double wanted) {
  return std::abs(value - wanted) <= tolerance * (1 + std::abs(wanted));
}

// PyTorch's Nesterov: v' = mu v + g, z' = z - lr (g + mu v').
std::string follows(Step const& step, std::vector<double> const& from,
                    std::vector<double> const& gradient) {
  double const mu = step.outer.momentum;
  double const lr = step.outer.lr;
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    double const v = mu * step.before.outer_momentum[i] + gradient[i];
    double const z = from[i] - lr * (gradient[i] + mu * v);
    if (!close_to(step.after.outer_momentum[i], v) || !close_to(step.after.parameters[i], z))
      return fmt::format("parameter {} is {:g} instead of {:g}, its momentum {:g} instead of {:g}",
                         i, step.after.parameters[i], z, step.after.outer_momentum[i], v);
  }
  return "";
}

std::vector<float> joined(std::vector<Blob> const& shards) {
  std::vector<float> values;
  for (auto const& shard : shards) {
    auto const first = values.size();
    values.resize(first + shard->size() / sizeof(float));
    std::memcpy(values.data() + first, shard->data(), shard->size());
  }
  return values;
}

}  // namespace

std::optional<std::string> replay_global(Swarm& swarm, std::size_t machine,
                                         LedgerEntry const& entry) {
  auto const step = step_of(swarm, machine, entry);
  if (!step) return std::nullopt;
  std::vector<double> mean(step->before.parameters.size());
  for (auto const& input : entry.inputs) {
    auto const heard = swarm.testimony().contributions.find(input.contribution);
    if (heard == swarm.testimony().contributions.end() || heard->second.shards.empty())
      return std::nullopt;
    auto const values = joined(heard->second.shards);
    if (heard->second.contribution.base != entry.before)
      return "an input was trained from another state";
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += input.weight * double{values.at(i)};
  }
  std::vector<double> const from(step->before.parameters.begin(), step->before.parameters.end());
  return follows(*step, from, mean);
}

std::optional<std::string> replay_pair(Swarm& swarm, std::size_t machine, LedgerEntry const& entry,
                                       std::size_t other, LedgerEntry const& theirs) {
  auto const mine = step_of(swarm, machine, entry);
  auto const its = step_of(swarm, other, theirs);
  if (!mine || !its) return std::nullopt;
  std::vector<double> from(mine->before.parameters.size());
  std::vector<double> gradient(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) {
    from[i] = (double{mine->before.parameters[i]} + double{its->before.parameters[i]}) / 2;
    gradient[i] = double{its->after.outer_momentum[i]} -
                  double{its->outer.momentum} * double{its->before.outer_momentum[i]};
  }
  return follows(*mine, from, gradient);
}

}  // namespace grapevine::world
