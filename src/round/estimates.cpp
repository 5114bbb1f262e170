#include "round/estimates_detail.hpp"

#include <algorithm>

namespace grapevine {
namespace {

// A measured rate is a guess: a peer is given this much more time than it predicts.
constexpr double patience = 1.5;
constexpr double seconds_max = 1e6;

}  // namespace

Duration transfer_estimate(std::uint64_t model_bytes, double bytes_per_s, TransferLimits limits) {
  if (bytes_per_s <= 0) return limits.least;
  double const seconds = 2.0 * static_cast<double>(model_bytes) / bytes_per_s;
  return std::min(from_seconds(std::min(seconds * patience, seconds_max)), limits.most);
}

Instant finish_estimate(PeerView const& peer, Duration grace) {
  auto const& beacon = peer.beacon;
  if (beacon.state != PeerState::training || beacon.steps_per_s <= 0) return peer.seen + grace;
  double const left =
      static_cast<double>(beacon.inner_steps) - std::min(beacon.inner_step, beacon.inner_steps);
  return peer.seen + from_seconds(std::min(patience * left / beacon.steps_per_s, seconds_max));
}

}  // namespace grapevine
