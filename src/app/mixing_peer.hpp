// One peer of `grapevine bench mixing`: a production node whose trainer has next to nothing to do,
// so that what is measured is the exchange. A process of its own.
#pragma once

#include "grapevine/wire/mix_pattern.hpp"

#include <cstdint>
#include <string>

namespace grapevine {

struct MixingPeerOptions {
  std::string home;
  std::string bootstrap;  // empty: it begins the run
  MixPattern pattern = MixPattern::global;
  Codec codec = Codec::fp32;
  std::uint64_t elements = 0;
  std::uint64_t rounds = 0;
};

// Prints {"address": …} once others can join, then a line a round:
//   {"round", "participants", "mix_s", "bytes_out"}
// and at the end {"cpu_s", "rss_bytes_max"}. Returns the exit code.
int run_mixing_peer(MixingPeerOptions const& options);

}  // namespace grapevine
