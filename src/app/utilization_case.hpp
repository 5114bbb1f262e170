// UtilizationCase: a swarm whose share of time spent training is measured, and what the formula of
// the method's paper gives for it. Values; any thread.
#pragma once

#include "grapevine/wire/mix_pattern.hpp"

#include "app/round_swarm.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace grapevine {

// The published setting (Factored Gossip DiLoCo, arXiv 2606.22768): a Llama of 16 layers, width
// 2048, 8 of 32 heads for keys and values, 8192 in the feed-forward part, 128 256 tokens, head of
// its own.
inline constexpr std::uint64_t published_elements = 1'498'482'688;
// Of them: embedding, head and two layers.
inline constexpr std::uint64_t subset_elements = 646'979'584;

struct UtilizationCase {
  std::string method;
  Mixing mixing;
  bool subset = false;  // Mix2 mixes the subset only
  std::uint32_t inner_steps = 100;
  std::size_t peers = 8;
  std::uint32_t shards = 8;
  double up_mbps = 100;
  double down_mbps = 100;
  double transfer_failure = 0;
  std::optional<double> published{};  // 0 to 1

  [[nodiscard]] SwarmShape shape() const;
  // T / (max(T, C1) + C2): T the inner steps, C1 what Mix1 takes and C2 what Mix2 takes. Where all
  // links are alike, nothing fails, and everybody averages the same part.
  [[nodiscard]] double formula() const;

 private:
  struct Seconds {
    double inner = 0;
    double mix1 = 0;
    double mix2 = 0;
  };
  [[nodiscard]] Seconds seconds(SwarmShape const& swarm) const;
};

}  // namespace grapevine
