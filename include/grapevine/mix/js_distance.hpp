// The Jensen-Shannon distance of two models: how far apart are what they expect on the same probe
// batch, as a function of what they say and not of how they are parametrised.
//   JSD(p, q) = (KL(p | m) + KL(q | m)) / 2,  m = (p + q) / 2,  in bits;  d = sqrt(JSD)  in [0, 1]
// and the mean of d over the rows of the batch. As the sum over tokens of
//   m g(r),  r = |p - q| / (p + q),  g(r) = ((1 + r) log2(1 + r) + (1 - r) log2(1 - r)) / 2,
// whose terms are never negative: what fp32 log-probabilities have lost by rounding stays a
// distance of about 1e-6, while the difference of entropies would make 3e-4 of it. Pure; the same
// bits on every machine; any thread.
#pragma once

#include "grapevine/tensor/probe_answer.hpp"

namespace grapevine {

// A lower bound of the distance, from what both sides list; the distance itself where both list
// every token. Symmetric, bit for bit: two peers that have exchanged their answers know one number,
// so that what depends on it happens on both sides. A token that one side alone lists has with the
// other at most the least probability that it lists, and all such tokens together at most its rest.
// Errc::schema_mismatch for answers of another vocabulary or to another batch.
[[nodiscard]] Result<double> js_distance(ProbeAnswer const& a, ProbeAnswer const& b);

}  // namespace grapevine
