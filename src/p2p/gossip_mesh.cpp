// Who is in which mesh of a gossip router, and the heartbeat that keeps it so.
#include "p2p/gossip_router_detail.hpp"

#include <algorithm>

namespace grapevine {

std::vector<PeerId> GossipRouter::State::candidates(std::string const& topic,
                                                    Wanted const& wanted) {
  std::vector<PeerId> out;
  auto const announced = topics.find(topic);
  if (announced == topics.end()) return out;
  for (auto const& id : announced->second) {
    auto const& peer = peers.at(id);
    if (peer.open && wanted(id, peer)) out.push_back(id);
  }
  random.shuffle(std::span(out));
  return out;
}

std::vector<PeerId> GossipRouter::State::graftable(std::string const& topic, Instant now) {
  auto const& members = mesh.at(topic);
  return candidates(topic, [&](PeerId const& id, GossipPeer const&) {
    return !members.contains(id) && scores.score(id, now) >= 0 &&
           !backing_off(topic, id, now - p.heartbeat);
  });
}

void GossipRouter::State::graft(std::string const& topic, PeerId const& peer, Instant now) {
  mesh.at(topic).insert(peer);
  scores.meshed(peer, topic, now);
  control[peer].graft.insert(topic);
}

void GossipRouter::State::prune(std::string const& topic, PeerId const& peer, Duration backoff,
                                Instant now) {
  leave_mesh(topic, peer);
  add_backoff(topic, peer, backoff, now);
  control[peer].graft.erase(topic);
  control[peer].prune[topic] = static_cast<std::uint64_t>(to_seconds(backoff));
}

void GossipRouter::State::leave_mesh(std::string const& topic, PeerId const& peer) {
  auto const members = mesh.find(topic);
  if (members != mesh.end() && members->second.erase(peer) > 0) scores.unmeshed(peer, topic);
}

void GossipRouter::State::leave_meshes(PeerId const& peer) {
  for (auto& [topic, members] : mesh)
    if (members.erase(peer) > 0) scores.unmeshed(peer, topic);
  for (auto& [topic, outside] : fanout) outside.peers.erase(peer);
}

// When full, the one that ends first makes room: it is the least of a loss.
void GossipRouter::State::add_backoff(std::string const& topic, PeerId const& peer,
                                      Duration backoff, Instant now) {
  auto& of_topic = backoffs[topic];
  auto& entry = of_topic[peer];
  entry.since = now;
  entry.until = std::max(entry.until, now + backoff);
  if (of_topic.size() <= limits::gossip_backoffs_max) return;
  of_topic.erase(
      std::ranges::min_element(of_topic, {}, [](auto const& held) { return held.second.until; }));
}

bool GossipRouter::State::backing_off(std::string const& topic, PeerId const& peer,
                                      Instant now) const {
  auto const of_topic = backoffs.find(topic);
  if (of_topic == backoffs.end()) return false;
  auto const entry = of_topic->second.find(peer);
  return entry != of_topic->second.end() && now < entry->second.until;
}

std::size_t GossipRouter::State::outbound(std::set<PeerId> const& members) const {
  return static_cast<std::size_t>(std::ranges::count_if(
      members, [&](PeerId const& id) { return peers.at(id).link == Link::outbound; }));
}

void GossipRouter::heartbeat(Instant now) {
  auto& s = *state_;
  ++s.heartbeats;
  s.expire(now);
  for (auto& [topic, members] : s.mesh) s.maintain_mesh(topic, now);
  s.maintain_fanout(now);
  for (auto const& [topic, members] : s.mesh) s.tell_history(topic, members, now);
  for (auto const& [topic, outside] : s.fanout) s.tell_history(topic, outside.peers, now);
  s.history.shift();
  s.flush_control();
}

void GossipRouter::State::maintain_mesh(std::string const& topic, Instant now) {
  auto& members = mesh.at(topic);
  auto const before = members;
  for (auto const& peer : before)
    if (scores.score(peer, now) < 0) prune(topic, peer, p.backoff, now);

  if (members.size() < p.mesh_low) {
    for (auto const& peer : graftable(topic, now)) {
      if (members.size() >= p.mesh) break;
      graft(topic, peer, now);
    }
  }
  if (members.size() > p.mesh_high) cut_mesh(topic, now);

  auto ours = outbound(members);
  if (members.size() >= p.mesh_low && ours < p.mesh_outbound) {
    for (auto const& peer : graftable(topic, now)) {
      if (ours >= p.mesh_outbound || members.size() >= p.mesh_high) break;
      if (peers.at(peer).link != Link::outbound) continue;
      graft(topic, peer, now);
      ++ours;
    }
  }
  if (heartbeats % p.opportunistic_heartbeats == 0) graft_opportunistically(topic, now);
}

// Down to the target: the best by score stay, the others by chance, but enough that we dialled.
void GossipRouter::State::cut_mesh(std::string const& topic, Instant now) {
  auto const& members = mesh.at(topic);
  std::vector<PeerId> order(members.begin(), members.end());
  random.shuffle(std::span(order));
  std::map<PeerId, double> score;
  for (auto const& id : order) score[id] = scores.score(id, now);
  std::ranges::stable_sort(order, std::greater{}, [&](PeerId const& id) { return score.at(id); });
  random.shuffle(std::span(order).subspan(p.mesh_by_score));

  auto const is_outbound = [&](PeerId const& id) { return peers.at(id).link == Link::outbound; };
  auto const cut = order.begin() + static_cast<std::ptrdiff_t>(p.mesh);
  auto kept = static_cast<std::size_t>(std::count_if(order.begin(), cut, is_outbound));
  auto spare = std::find_if(cut, order.end(), is_outbound);
  for (auto out = cut; out != order.begin() && kept < p.mesh_outbound && spare != order.end();) {
    if (is_outbound(*--out)) continue;
    std::iter_swap(out, spare);
    ++kept;
    spare = std::find_if(spare, order.end(), is_outbound);
  }
  std::vector<PeerId> const surplus(cut, order.end());
  for (auto const& peer : surplus) prune(topic, peer, p.backoff, now);
}

// A mesh of mediocre peers is how an attacker starves one; a better peer may be outside.
void GossipRouter::State::graft_opportunistically(std::string const& topic, Instant now) {
  auto const& members = mesh.at(topic);
  if (members.size() < 2) return;
  std::vector<double> standing;
  for (auto const& peer : members) standing.push_back(scores.score(peer, now));
  std::ranges::sort(standing);
  auto const median = standing[standing.size() / 2];
  if (median >= gossip_score::opportunistic) return;
  std::size_t grafted = 0;
  for (auto const& peer : graftable(topic, now)) {
    if (grafted >= p.opportunistic_grafts || members.size() >= p.mesh_high) return;
    if (scores.score(peer, now) <= median) continue;
    graft(topic, peer, now);
    ++grafted;
  }
}

void GossipRouter::State::fill_fanout(std::string const& topic, Fanout& to, Instant now) {
  if (to.peers.size() >= p.mesh) return;
  auto const more = candidates(topic, [&](PeerId const& id, GossipPeer const&) {
    return !to.peers.contains(id) && scores.score(id, now) >= gossip_score::publish;
  });
  for (auto const& peer : more)
    if (to.peers.size() < p.mesh) to.peers.insert(peer);
}

void GossipRouter::State::maintain_fanout(Instant now) {
  std::erase_if(fanout, [&](auto const& held) { return now - held.second.published >= p.fanout; });
  for (auto& [topic, to] : fanout) {
    auto const& name = topic;
    std::erase_if(to.peers, [&](PeerId const& id) {
      return !peers.at(id).topics.contains(name) || scores.score(id, now) < gossip_score::publish;
    });
    fill_fanout(topic, to, now);
  }
}

// IHAVE, to some that are in no mesh with us: how a message gets around a hole in the mesh.
void GossipRouter::State::tell_history(std::string const& topic, std::set<PeerId> const& not_to,
                                       Instant now) {
  auto ids = history.ids(topic, p.history_told);
  if (ids.empty()) return;
  auto const eligible = candidates(topic, [&](PeerId const& id, GossipPeer const&) {
    return !not_to.contains(id) && scores.score(id, now) >= gossip_score::gossip;
  });
  auto const share = static_cast<std::size_t>(p.lazy_share * static_cast<double>(eligible.size()));
  auto const told = std::min(eligible.size(), std::max(p.lazy, share));
  for (std::size_t i = 0; i < told; ++i) {
    random.shuffle(std::span(ids));
    auto const count = std::min(ids.size(), limits::gossip_ids_told_max);
    control[eligible[i]].ihave[topic].assign(ids.begin(),
                                             ids.begin() + static_cast<std::ptrdiff_t>(count));
  }
}

void GossipRouter::State::expire(Instant now) {
  seen.expire(now);
  scores.decay();
  for (auto const& peer : promises.take_broken(now)) scores.misbehaved(peer);
  auto const over = [&](auto const& held) { return now >= held.second.until + 2 * p.heartbeat; };
  for (auto& [topic, of_topic] : backoffs) std::erase_if(of_topic, over);
  std::erase_if(backoffs, [](auto const& entry) { return entry.second.empty(); });
  for (auto& [id, peer] : peers) {
    peer.ihaves = peer.ids_asked = peer.idontwants = peer.ids_unwanted = 0;
    for (auto& [message, left] : peer.unwanted) --left;
    std::erase_if(peer.unwanted, [](auto const& held) { return held.second == 0; });
  }
}

}  // namespace grapevine
