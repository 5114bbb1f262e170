#include "grapevine/base/limits.hpp"
#include "p2p/gossip_score_detail.hpp"

#include <algorithm>

namespace grapevine {

namespace {

// 0.01^(1/600): what is left of a count falls to 1 % in 600 heartbeats, ten minutes.
constexpr double decay_factor = 0.99235;
constexpr double forgotten = 0.01;

double decayed(double count, double factor) {
  count *= factor;
  return count < forgotten ? 0 : count;
}

}  // namespace

void GossipScores::meshed(PeerId const& peer, std::string const& topic, Instant now) {
  records_[peer].meshed_since.try_emplace(topic, now);
}

void GossipScores::unmeshed(PeerId const& peer, std::string const& topic) {
  auto const found = records_.find(peer);
  if (found != records_.end()) found->second.meshed_since.erase(topic);
}

void GossipScores::delivered_first(PeerId const& peer) {
  auto& count = records_[peer].first_deliveries;
  count = std::min(count + 1, gossip_score::first_deliveries_max);
}

void GossipScores::sent_invalid(PeerId const& peer) { records_[peer].invalid += 1; }

void GossipScores::misbehaved(PeerId const& peer, double much) {
  records_[peer].misbehaviour += much;
}

void GossipScores::left(PeerId const& peer) {
  auto const found = records_.find(peer);
  if (found == records_.end()) return;
  auto& record = found->second;
  auto const retained = std::ranges::count_if(records_, [](auto& r) { return !r.second.here; });
  bool const clean = record.invalid == 0 && record.misbehaviour == 0;
  if (clean || static_cast<std::size_t>(retained) >= limits::gossip_scores_retained_max) {
    records_.erase(found);
    return;
  }
  record.meshed_since.clear();
  record.first_deliveries = 0;
  record.here = false;
}

void GossipScores::returned(PeerId const& peer) {
  auto const found = records_.find(peer);
  if (found != records_.end()) found->second.here = true;
}

void GossipScores::decay() {
  for (auto& [peer, record] : records_) {
    record.first_deliveries = decayed(record.first_deliveries, decay_factor);
    record.invalid = decayed(record.invalid, decay_factor);
    record.misbehaviour = decayed(record.misbehaviour, decay_factor);
  }
  std::erase_if(records_, [](auto const& entry) {
    auto const& r = entry.second;
    return r.invalid == 0 && r.misbehaviour == 0 && r.first_deliveries == 0 &&
           r.meshed_since.empty();
  });
}

double GossipScores::score(PeerId const& peer, Instant now) const {
  auto const found = records_.find(peer);
  if (found == records_.end()) return 0;
  auto const& record = found->second;
  double meshed = 0;
  for (auto const& [topic, since] : record.meshed_since)
    meshed += to_seconds(now - since) * gossip_score::mesh_second;
  auto const excess = std::max(0.0, record.misbehaviour - gossip_score::misbehaviour_tolerated);
  return std::min(meshed, gossip_score::mesh_max) +
         record.first_deliveries * gossip_score::first_delivery +
         gossip_score::invalid * record.invalid * record.invalid +
         gossip_score::misbehaviour * excess * excess;
}

}  // namespace grapevine
