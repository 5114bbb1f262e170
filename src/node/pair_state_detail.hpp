// The arithmetic of a pair exchange on whole states: what both sides do, bit for bit the same, and
// what a side still owes when it closed the round before it knew. Pure and heavy: on a worker.
#pragma once

#include "node/model_state_detail.hpp"

namespace grapevine {

// What one side brings: z and D, one blob a shard.
struct PairSide {
  std::vector<Blob> parameters;
  std::vector<Blob> gradients;
};

// The L2 norm of the outer gradient, once all is of the right size and finite:
// Errc::schema_mismatch, Errc::not_finite.
[[nodiscard]] Result<double> check_side(PairSide const& side, std::uint64_t elements);

// Ordered by the peer ids, not by who is asking.
struct PairSides {
  PairSide const& low;
  PairSide const& high;
};
// The next round's state: x = mean z, an outer step by mean D, the momentum its own. None when a
// value would leave the range of a float.
[[nodiscard]] ModelStatePtr apply_pair(ModelState const& own, OuterSettings const& settings,
                                       PairSides sides);

struct StateCorrection {
  std::vector<float> parameters;
  std::vector<float> momentum;
};
// What apply_pair would have changed over an outer step by `gradients` alone.
[[nodiscard]] StateCorrection correction_of(ModelState const& own, OuterSettings const& settings,
                                            std::vector<Blob> const& gradients, PairSides sides);
[[nodiscard]] ModelStatePtr corrected(ModelState const& state, StateCorrection const& by);

}  // namespace grapevine
