// NoiseSwarm: peers that train on nothing but noise, mixed by the arithmetic that the node mixes
// with. What is left of learning is disagreement, and for that there are formulas: the consensus
// bound of Factored Gossip DiLoCo (arXiv 2606.22768), which this model meets as an equality.
// Deterministic from its seed; any thread.
#pragma once

#include "grapevine/base/random.hpp"
#include "grapevine/mix/outer_optimizer.hpp"
#include "grapevine/wire/mix_pattern.hpp"

#include <cstddef>
#include <optional>
#include <vector>

namespace grapevine {

// A round, for each peer m with parameters z, inner steps that move it by noise n, D = -n:
//   x = Mix1(z),  Dbar = Mix2(D),  v <- mu v + Dbar,  z <- x - gamma (Dbar + mu v)
struct NoiseMixing {
  MixPattern parameters = MixPattern::none;  // Mix1
  MixPattern gradients = MixPattern::none;   // Mix2
  double gradient_share = 1;                 // of the elements that Mix2 mixes; the first ones
  OuterSettings outer{.lr = 1, .momentum = 0, .nesterov = true};
  bool momentum_mixed = false;  // v goes with z to the partner of Mix1; else it stays local
  double matched = 1;           // share of the pairs that do find together
};

class NoiseSwarm {
 public:
  NoiseSwarm(NoiseMixing mixing, std::size_t peers, std::size_t elements, std::uint64_t seed);

  // One round. Returns the squared distance between two peers at the end of the inner steps, mean
  // over the pairs and the elements, as a multiple of what one round of noise alone makes of it.
  double round();

 private:
  using Vectors = std::vector<std::vector<float>>;  // one a peer
  using Partners = std::vector<std::optional<std::size_t>>;

  void train();
  [[nodiscard]] double distance() const;
  [[nodiscard]] Partners match();
  void mix(Vectors& values, std::size_t elements, MixPattern pattern, Partners const& partners);

  NoiseMixing mixing_;
  std::size_t elements_;
  SeededRandom random_;
  Vectors parameters_;
  Vectors momentum_;
  Vectors gradients_;
  Vectors mixed_;  // scratch
};

}  // namespace grapevine
