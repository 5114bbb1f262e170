// How the peers of a run exchange what they learned. A round has two mixings (arXiv 2606.22768):
// Mix1, of parameters, overlapped with the inner steps, and Mix2, of outer gradients, which blocks.
#pragma once

#include "grapevine/base/result.hpp"
#include "grapevine/kernels/codec.hpp"

#include <cstdint>
#include <span>
#include <string_view>

namespace grapevine {

enum class MixPattern : std::uint8_t {
  none,    // everyone alone
  pair,    // two peers, both or neither
  global,  // everyone, a reducer for each shard
};
[[nodiscard]] std::string_view to_string(MixPattern pattern);

enum class MixLane : std::uint8_t {
  gradients,   // Mix2; weighted by tokens
  parameters,  // Mix1; equal weights, so that the swarm's mean never moves
  joint,       // both in one exchange with the same partner, after the inner steps; equal weights
};
[[nodiscard]] std::string_view to_string(MixLane lane);

// What a run mixes. DiLoCo is the default; LocalM1 is {pair, none}, GlobalM1LocalM2 {global, pair}.
struct Mixing {
  MixPattern mix1 = MixPattern::none;    // of parameters, during the inner steps
  MixPattern mix2 = MixPattern::global;  // of outer gradients, after them
  bool joint = false;                    // pair and pair: one exchange with the same partner
  bool mix1_momentum = false;            // Mix1 takes the outer momentum along
  // How what is mixed travels. With a lossy mix2_codec every peer keeps what its encodings left out
  // of its outer gradients and adds it to the next, times error_decay (kernels/error_feedback.hpp).
  Codec mix1_codec = Codec::fp32;
  Codec mix2_codec = Codec::fp32;
  float error_decay = 1;

  // Everyone has the same state: the outer gradients of all are mixed, and nothing else.
  [[nodiscard]] bool one_state() const {
    return mix1 == MixPattern::none && mix2 == MixPattern::global;
  }
  [[nodiscard]] bool nothing() const {
    return mix1 == MixPattern::none && mix2 == MixPattern::none;
  }
  [[nodiscard]] bool has(MixPattern pattern) const { return mix1 == pattern || mix2 == pattern; }
  // What a reducer sends. The mean of top-k encodings has more values than one of them.
  [[nodiscard]] Codec result_codec(MixLane lane) const;
  // Of a lane: none where the run has no such lane.
  [[nodiscard]] MixPattern pattern_of(MixLane lane) const;
  bool operator==(Mixing const&) const = default;
};

// The mixings that have a name, as people compare them.
struct MixingMethod {
  std::string_view name;  // "global-m1-local-m2"
  Mixing mixing;
};
[[nodiscard]] std::span<MixingMethod const> mixing_methods();
// Errc::config_invalid names those there are. Where `codec` is for outer gradients alone, the
// parameters go as bf16.
[[nodiscard]] Result<Mixing> mixing_method(std::string_view name, std::string_view codec = "fp32");

}  // namespace grapevine
