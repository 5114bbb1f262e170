#include "app/utilization_case.hpp"

#include <algorithm>

namespace grapevine {
namespace {

constexpr double bytes_per_mbit = 1e6 / 8;
// What the published figures imply: one copy in bf16 takes 1.016 times as long at 100 Mb/s as 100
// inner steps (anything from 1.0114 to 1.0243 gives all of them).
constexpr double step_s = 2.0 * published_elements / (100 * bytes_per_mbit) / 1.016 / 100;
constexpr double state_copies = 2;  // fp32 parameters and momentum
// As in the manifest of a run, whose author gives a slow swarm the time it needs.
constexpr double wait_min_s = 2, wait_max_s = 600, wait_patience = 2;

SwarmShape::Payload payload(Codec codec, Codec average, std::uint64_t elements) {
  return {encoded_bytes({.codec = codec}, elements), encoded_bytes({.codec = average}, elements)};
}

double transfer_s(MixPattern pattern, SwarmShape::Payload const& payload, double peers,
                  double bytes_per_s) {
  auto const bytes = static_cast<double>(payload.bytes);
  auto const average = static_cast<double>(payload.average_bytes);
  if (pattern == MixPattern::none) return 0;
  if (pattern == MixPattern::pair) return bytes / bytes_per_s;
  return (peers - 1) / peers * (bytes + average) / bytes_per_s;
}

}  // namespace

UtilizationCase::Seconds UtilizationCase::seconds(SwarmShape const& swarm) const {
  double const rate = std::min(swarm.link.up, swarm.link.down);
  auto const count = static_cast<double>(peers);
  return {.inner = step_s * inner_steps,
          .mix1 = transfer_s(mixing.mix1, swarm.parameters, count, rate),
          .mix2 = transfer_s(mixing.mix2, swarm.gradients, count, rate)};
}

SwarmShape UtilizationCase::shape() const {
  SwarmShape shape;
  shape.mixing = mixing;
  shape.peers = peers;
  shape.shards = shards;
  shape.inner_steps = inner_steps;
  shape.step_time = from_seconds(step_s);
  shape.link = {up_mbps * bytes_per_mbit, down_mbps * bytes_per_mbit};
  shape.parameters =
      payload(mixing.mix1_codec, mixing.result_codec(MixLane::parameters), published_elements);
  shape.gradients = payload(mixing.mix2_codec, mixing.result_codec(MixLane::gradients),
                            subset ? subset_elements : published_elements);
  shape.state_bytes = static_cast<std::uint64_t>(state_copies * sizeof(float) * published_elements);
  shape.transfer_failure = transfer_failure;
  auto const takes = seconds(shape);
  shape.wait_min = from_seconds(wait_min_s);
  shape.wait_max = from_seconds(std::max(wait_max_s, wait_patience * (takes.mix1 + takes.mix2)));
  return shape;
}

double UtilizationCase::formula() const {
  auto const takes = seconds(shape());
  return takes.inner / (std::max(takes.inner, takes.mix1) + takes.mix2);
}

}  // namespace grapevine
