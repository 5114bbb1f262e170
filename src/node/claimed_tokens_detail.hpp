// How many tokens a peer may say that it trained on: they are its weight in a mixing, and nobody
// can count them.
#pragma once

#include "grapevine/wire/manifest.hpp"

namespace grapevine {

// In the lane of parameters everybody weighs the same: 1. Else what a few rounds come to, for
// somebody may have been left out of the last ones.
[[nodiscard]] std::uint64_t claimed_tokens_max(RunManifest const& run, MixLane lane);
// Errc::limit_exceeded.
[[nodiscard]] Result<> check_claimed_tokens(RunManifest const& run, MixLane lane,
                                            std::uint64_t tokens);

}  // namespace grapevine
