// A peer that only listens: it keeps every contribution that is announced in the run and pulls what
// is behind it, so that what others say they made of it can be computed once more.
#pragma once

#include "grapevine/net/blob_exchange.hpp"
#include "grapevine/sim/world.hpp"
#include "grapevine/wire/messages.hpp"

#include <map>
#include <memory>
#include <vector>

namespace grapevine::world {

struct Testimony {
  struct Heard {
    Contribution contribution;
    std::vector<Blob> shards;  // all of them, or none: they could not be pulled
  };
  std::map<Hash, Heard> contributions;  // by the SHA-256 of the signed announcement
};

// `testimony` outlives the peer.
[[nodiscard]] std::unique_ptr<sim::Program> make_witness(Doors doors,
                                                         std::vector<Multiaddr> bootstrap,
                                                         Testimony& testimony);

}  // namespace grapevine::world
