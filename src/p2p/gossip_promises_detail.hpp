// GossipPromises: of each IWANT one id is watched. A peer that said it has a message and does not
// send it in time breaks a promise. Bounded by limits::gossip_promises_max. Owned by the router.
// Source: gossipsub v1.1, "spam protection measures".
#pragma once

#include "grapevine/p2p/gossip.hpp"

namespace grapevine {

class GossipPromises {
 public:
  void add(GossipId const& id, PeerId const& peer, Instant due);
  void keep(GossipId const& id);  // the message came, from whomever
  void forget(PeerId const& peer);
  [[nodiscard]] std::vector<PeerId> take_broken(Instant now);  // one entry a promise
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  std::map<GossipId, std::map<PeerId, Instant>> due_;
  std::size_t size_ = 0;
};

}  // namespace grapevine
