#include "p2p/gossip_promises_detail.hpp"

namespace grapevine {

void GossipPromises::add(GossipId const& id, PeerId const& peer, Instant due) {
  if (size_ >= limits::gossip_promises_max) return;
  if (due_[id].try_emplace(peer, due).second) ++size_;
}

void GossipPromises::keep(GossipId const& id) {
  auto const found = due_.find(id);
  if (found == due_.end()) return;
  size_ -= found->second.size();
  due_.erase(found);
}

void GossipPromises::forget(PeerId const& peer) {
  for (auto& [id, peers] : due_) size_ -= peers.erase(peer);
  std::erase_if(due_, [](auto const& entry) { return entry.second.empty(); });
}

std::vector<PeerId> GossipPromises::take_broken(Instant now) {
  std::vector<PeerId> broken;
  for (auto& [id, peers] : due_) {
    size_ -= std::erase_if(peers, [&](auto const& promise) {
      auto const& [peer, due] = promise;
      if (due <= now) broken.push_back(peer);
      return due <= now;
    });
  }
  std::erase_if(due_, [](auto const& entry) { return entry.second.empty(); });
  return broken;
}

}  // namespace grapevine
