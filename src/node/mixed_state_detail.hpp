// The arithmetic of a peer that has a state of its own: what a round's mixings make of it, and what
// a side of a pair exchange still owes when it closed the round before it knew how that ended.
// Pure and heavy: on a worker.
//
// Factored Gossip DiLoCo (arXiv 2606.22768), with parameters z, outer gradient D and momentum v:
//   x = Mix1(z),  v <- mu v + Mix2(D),  z <- x - lr (Mix2(D) + mu v)
// or NoLoCo's (OuterSettings::pull):  D' = Mix2(D) - (pull / lr) (x - z),  stepped from z
#pragma once

#include "node/model_state_detail.hpp"

namespace grapevine {

// What came out of the mixings, one blob a shard; null, or nothing at all, where this peer goes on
// with its own.
struct MixedShards {
  std::vector<Blob> parameters;  // x
  std::vector<Blob> momentum;    // v, where Mix1 takes it along
  std::vector<Blob> gradients;   // Mix2(D)
};
// Sorts in what came of one lane: for `parameters` z (then v), for `gradients` D, for `joint` z
// (then v), then D; `shards` blobs of each.
void take_in(MixedShards& mixed, MixLane lane, std::uint32_t shards, std::vector<Blob> blobs);
// What a mean of what was `sent` does to the state it was sent of (delta rule): z + (mean - sent).
// Where it travelled unchanged, that is the mean itself. Gradients are as they came. Null where the
// mean is.
[[nodiscard]] std::vector<Blob> moved(MixLane lane, ModelState const& own, std::uint32_t shards,
                                      std::vector<Blob> const& sent, std::vector<Blob> mean);

// The next round's state: from x, an outer step by the mixed gradient. `gradients` are this peer's
// own; without any it takes no outer step. What would take a shard out of the range of a float is
// worth no more than a lost exchange.
[[nodiscard]] ModelStatePtr step_mixed(ModelState const& own, OuterSettings const& settings,
                                       std::vector<Blob> const& gradients,
                                       MixedShards const& mixed);

// One side of a pair exchange.
struct WeightedSide {
  std::vector<Blob> const& blobs;
  std::uint64_t weight = 1;
};
// The mean; `low` is the side of the lower peer id, so that both sides come to the same bits.
[[nodiscard]] std::vector<Blob> mean_of(WeightedSide const& low, WeightedSide const& high);

// The L2 norm of the outer gradient in a side of an exchange; 0 in the lane of parameters.
// Errc::not_finite when it is out of range.
[[nodiscard]] Result<double> norm_of_side(MixLane lane, std::vector<Blob> const& side,
                                          std::uint32_t shards);

// The squared L2 distance between the parameters of two sides of a joint exchange (of one length)
// at the end of their inner steps: theta = z - D.
[[nodiscard]] double squared_distance(std::vector<Blob> const& ours,
                                      std::vector<Blob> const& theirs, std::uint32_t shards);

// The mean squared L2 distance between two of several vectors, from their norms and that of their
// weighted mean alone; a pair counts as the product of its weights, which must be positive:
//   sum_ij w_i w_j |D_i - D_j|^2 = 2 (sum_i w_i |D_i|^2 - |sum_i w_i D_i|^2),  sum_i w_i = 1
struct WeightedNorm {
  double weight = 0;
  double norm = 0;
};
[[nodiscard]] double mean_squared_distance(std::span<WeightedNorm const> norms,
                                           double squared_norm_of_mean);

struct StateCorrection {
  std::vector<float> parameters;
  std::vector<float> momentum;
};
// What has to be added to `is` to come to `wanted`. Added after later outer steps it has to be aged
// (mix/correction.hpp): a step is linear in (z, v).
[[nodiscard]] StateCorrection difference(ModelState const& wanted, ModelState const& is);
[[nodiscard]] ModelStatePtr corrected(ModelState const& state, StateCorrection const& by);

}  // namespace grapevine
