#include "grapevine/base/assert.hpp"
#include "p2p/gossip_cache_detail.hpp"

namespace grapevine {

void SequenceFloors::raise(PeerId const& author, std::uint64_t seqno) {
  auto const [at, fresh] = floors_.try_emplace(author);
  if (fresh)
    at->second.place = order_.insert(order_.end(), author);
  else
    order_.splice(order_.end(), order_, at->second.place);
  at->second.seqno = std::max(at->second.seqno, seqno);
  if (floors_.size() <= max_) return;
  floors_.erase(order_.front());
  order_.pop_front();
}

bool SequenceFloors::covers(PeerId const& author, std::uint64_t seqno) const {
  auto const known = floors_.find(author);
  return known != floors_.end() && seqno <= known->second.seqno;
}

void SeenCache::insert(GossipId const& id, Instant now) {
  auto const [at, fresh] = ids_.insert(id);
  if (!fresh) return;
  order_.push_back({now, at});
  while (ids_.size() > max_) drop_oldest();
}

void SeenCache::expire(Instant now) {
  while (!order_.empty() && now - order_.front().at >= lifetime_) drop_oldest();
}

void SeenCache::drop_oldest() {
  if (listener_) listener_(*order_.front().id);
  ids_.erase(order_.front().id);
  order_.pop_front();
  ASSERT(ids_.size() == order_.size());
}

void HistoryCache::put(GossipId const& id, std::string const& topic, GossipFrame frame) {
  auto const bytes = frame->size();
  if (!messages_.try_emplace(id, Message{topic, std::move(frame), {}}).second) return;
  bytes_ += bytes;
  order_.push_back({window_, id});
  while (bytes_ > max_) drop_oldest();
}

GossipFrame HistoryCache::take(GossipId const& id, PeerId const& peer, std::uint32_t times_max) {
  auto const found = messages_.find(id);
  if (found == messages_.end()) return nullptr;
  auto& times = found->second.sent[peer];
  if (times >= times_max) return nullptr;
  ++times;
  return found->second.frame;
}

std::vector<GossipId> HistoryCache::ids(std::string const& topic, std::size_t windows) const {
  std::vector<GossipId> out;
  for (auto entry = order_.rbegin(); entry != order_.rend(); ++entry) {
    if (window_ - entry->window >= windows) break;
    if (messages_.at(entry->id).topic == topic) out.push_back(entry->id);
  }
  return out;
}

void HistoryCache::shift() {
  ++window_;
  while (!order_.empty() && window_ - order_.front().window >= windows_) drop_oldest();
}

void HistoryCache::drop_oldest() {
  auto const found = messages_.find(order_.front().id);
  ASSERT(found != messages_.end());
  bytes_ -= found->second.frame->size();
  messages_.erase(found);
  order_.pop_front();
}

}  // namespace grapevine
