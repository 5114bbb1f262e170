#include "node/mixed_state_detail.hpp"

#include "grapevine/base/assert.hpp"
#include "grapevine/mix/average.hpp"

#include <algorithm>
#include <utility>

namespace grapevine {
namespace {

Blob pick(std::vector<Blob> const& mixed, std::size_t shard, Blob const& own) {
  return shard < mixed.size() && mixed[shard] != nullptr ? mixed[shard] : own;
}

// NoLoCo: the outer gradient d with what draws z to x; it is stepped from z then.
Blob drawn_to(OuterSettings const& settings, Blob const& z, Blob const& x, Blob const& d) {
  auto sum = std::make_shared<Bytes>(d->size());
  auto const from = floats_of(*z), to = floats_of(*x), gradient = floats_of(*d);
  auto const values = floats_of(*sum);
  float const share = settings.pull / settings.lr;
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = gradient[i] - share * (to[i] - from[i]);
  return sum;
}

// The shard from x, after an outer step by d where there is one; nothing when a value would leave
// the range of a float.
std::optional<SteppedShard> step(OuterSettings const& settings, Blob const& x, Blob const& v,
                                 Blob const& d) {
  if (d != nullptr) return step_shard(settings, *x, *v, *d);
  if (!all_finite(floats_of(*x)) || !all_finite(floats_of(*v))) return std::nullopt;
  return SteppedShard{hash_blob(x), hash_blob(v)};
}

}  // namespace

void take_in(MixedShards& mixed, MixLane lane, std::uint32_t shards, std::vector<Blob> blobs) {
  ASSERT(blobs.size() % shards == 0);
  auto const parts = blobs.size() / shards;
  auto const part = [&](std::size_t index) {
    auto const first = blobs.begin() + static_cast<std::ptrdiff_t>(index * shards);
    return std::vector<Blob>(first, first + shards);
  };
  std::size_t const of_the_state = lane == MixLane::gradients ? 0
                                   : lane == MixLane::joint   ? parts - 1
                                                              : parts;
  ASSERT(of_the_state <= 2);
  if (of_the_state > 0) mixed.parameters = part(0);
  if (of_the_state > 1) mixed.momentum = part(1);
  if (of_the_state < parts) mixed.gradients = part(of_the_state);
}

std::vector<Blob> moved(MixLane lane, ModelState const& own, std::uint32_t shards,
                        std::vector<Blob> const& sent, std::vector<Blob> mean) {
  ASSERT(mean.size() == sent.size());
  std::size_t const of_gradients = lane == MixLane::parameters ? 0 : shards;
  for (std::size_t i = 0; i + of_gradients < mean.size(); ++i) {
    auto const& z = i < shards ? own.parameters[i].blob : own.momentum[i - shards].blob;
    if (mean[i] == nullptr || sent[i] == z) continue;
    auto sum = std::make_shared<Bytes>(z->size());
    auto const from = floats_of(*z), to = floats_of(*mean[i]), as_sent = floats_of(*sent[i]);
    auto const values = floats_of(*sum);
    for (std::size_t j = 0; j < values.size(); ++j) values[j] = from[j] + (to[j] - as_sent[j]);
    mean[i] = std::move(sum);
  }
  return mean;
}

ModelStatePtr step_mixed(ModelState const& own, OuterSettings const& settings,
                         std::vector<Blob> const& gradients, MixedShards const& mixed) {
  auto next = std::make_shared<ModelState>(own);
  ++next->round;
  for (std::size_t i = 0; i < own.parameters.size(); ++i) {
    Blob const& z = own.parameters[i].blob;
    Blob const& v = own.momentum[i].blob;
    Blob const d = gradients.empty() ? nullptr : gradients[i];
    Blob x = pick(mixed.parameters, i, z);
    Blob mean = d == nullptr ? d : pick(mixed.gradients, i, d);
    if (settings.pull > 0 && d != nullptr) mean = drawn_to(settings, z, std::exchange(x, z), mean);
    auto stepped = step(settings, x, pick(mixed.momentum, i, v), mean);
    if (!stepped) stepped = step(settings, z, v, d);
    if (!stepped) continue;
    next->parameters[i] = std::move(stepped->parameters);
    next->momentum[i] = std::move(stepped->momentum);
  }
  describe(*next);
  return next;
}

std::vector<Blob> mean_of(WeightedSide const& low, WeightedSide const& high) {
  ASSERT(low.blobs.size() == high.blobs.size());
  std::vector<Blob> means;
  for (std::size_t i = 0; i < low.blobs.size(); ++i) {
    auto mean = std::make_shared<Bytes>(low.blobs[i]->size());
    auto const a = floats_of(*low.blobs[i]), b = floats_of(*high.blobs[i]);
    if (low.weight == high.weight) {
      pair_average(a, b, floats_of(*mean));
    } else {
      WeightedInput const inputs[] = {{a, static_cast<double>(low.weight)},
                                      {b, static_cast<double>(high.weight)}};
      weighted_average(inputs, floats_of(*mean));
    }
    means.push_back(std::move(mean));
  }
  return means;
}

Result<double> norm_of_side(MixLane lane, std::vector<Blob> const& side, std::uint32_t shards) {
  double squares = 0;
  if (lane != MixLane::parameters)
    for (auto i = side.size() - shards; i < side.size(); ++i)
      squares += squared_norm(floats_of(*side[i]));
  return norm_of(squares);
}

double squared_distance(std::vector<Blob> const& ours, std::vector<Blob> const& theirs,
                        std::uint32_t shards) {
  ASSERT(ours.size() == theirs.size() && ours.size() >= 2 * std::size_t{shards});
  double sum = 0;
  for (std::size_t i = 0; i < shards; ++i) {
    auto const gradient = ours.size() - shards + i;
    auto const z = floats_of(*ours[i]), d = floats_of(*ours[gradient]);
    auto const their_z = floats_of(*theirs[i]), their_d = floats_of(*theirs[gradient]);
    for (std::size_t k = 0; k < z.size(); ++k) {
      double const apart =
          (double{z[k]} - double{d[k]}) - (double{their_z[k]} - double{their_d[k]});
      sum += apart * apart;
    }
  }
  return sum;
}

double mean_squared_distance(std::span<WeightedNorm const> norms, double squared_norm_of_mean) {
  double total = 0, squares = 0, selves = 0;
  for (auto const& one : norms) total += one.weight;
  for (auto const& one : norms) {
    double const weight = one.weight / total;
    squares += weight * one.norm * one.norm;
    selves += weight * weight;
  }
  ASSERT(total > 0 && selves < 1);
  return std::max(0.0, 2 * (squares - squared_norm_of_mean) / (1 - selves));
}

StateCorrection difference(ModelState const& wanted, ModelState const& is) {
  StateCorrection by{flatten(wanted.parameters), flatten(wanted.momentum)};
  auto const subtract = [](std::vector<float>& from, std::vector<float> const& values) {
    ASSERT(from.size() == values.size());
    for (std::size_t i = 0; i < values.size(); ++i) from[i] -= values[i];
  };
  subtract(by.parameters, flatten(is.parameters));
  subtract(by.momentum, flatten(is.momentum));
  return by;
}

ModelStatePtr corrected(ModelState const& state, StateCorrection const& by) {
  auto parameters = flatten(state.parameters);
  auto momentum = flatten(state.momentum);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    parameters[i] += by.parameters[i];
    momentum[i] += by.momentum[i];
  }
  return make_state(state.run, state.round, static_cast<std::uint32_t>(state.parameters.size()),
                    parameters, momentum);
}

}  // namespace grapevine
