// The probe batch of a run: the tokens that every peer puts to its model at the end of a round, to
// see how far apart the models have grown (mix/js_distance.hpp). All must ask the same, and nobody
// has text in common: data are private and never leave their machine. So the batch follows from the
// manifest alone. Over bytes it is plain English of our own, begun at a place that the run's seed
// draws: text as people train on it, where models of text differ. What the numbers of another
// vocabulary mean is not known here; there the seed draws each token.
#pragma once

#include <cstdint>
#include <vector>

namespace grapevine {

// limits::probe_tokens_max tokens of a vocabulary of `vocab`, at least 1; 256 of them are bytes.
[[nodiscard]] std::vector<std::uint32_t> probe_batch(std::uint64_t run_seed, std::uint32_t vocab);

}  // namespace grapevine
