// How long others may take, guessed from what they report. Guesses set deadlines and nothing else.
// Pure.
#pragma once

#include "grapevine/round/swarm_view.hpp"

namespace grapevine {

struct TransferLimits {
  Duration least{};  // also when the rate is not known
  Duration most{};
};
// To pull two copies of a model of `model_bytes`.
[[nodiscard]] Duration transfer_estimate(std::uint64_t model_bytes, double bytes_per_s,
                                         TransferLimits limits);
// When a peer will be done with its inner steps; one that does not train is given `grace` from its
// last beacon.
[[nodiscard]] Instant finish_estimate(PeerView const& peer, Duration grace);

}  // namespace grapevine
