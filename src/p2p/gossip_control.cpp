// What peers tell a gossip router besides messages. State is touched only for topics we are in.
#include "p2p/gossip_router_detail.hpp"

#include <algorithm>

namespace grapevine {

void GossipRouter::State::on_subscription(GossipPeer& peer, PeerId const& id,
                                          RpcSubscription const& what) {
  if (what.topic.empty() || what.topic.size() > limits::gossip_topic_name_max) return;
  std::string const topic(as_text(what.topic));
  if (what.subscribe) {
    if (peer.topics.size() >= limits::gossip_topics_per_peer_max) return;
    if (peer.topics.insert(topic).second) topics[topic].insert(id);
    return;
  }
  if (peer.topics.erase(topic) == 0) return;
  leave_mesh(topic, id);
  auto const announced = topics.find(topic);
  announced->second.erase(id);
  if (announced->second.empty()) topics.erase(announced);
}

void GossipRouter::State::on_control(GossipPeer& peer, PeerId const& id, Rpc const& rpc,
                                     Instant now) {
  on_ihave(peer, id, rpc.ihave, now);
  on_iwant(id, rpc.iwant);
  std::set<ByteView, bool (*)(ByteView, ByteView)> grafts(
      [](ByteView a, ByteView b) { return std::ranges::lexicographical_compare(a, b); });
  for (auto const& topic : rpc.graft)
    if (grafts.insert(topic).second) on_graft(peer, id, std::string(as_text(topic)), now);
  for (auto const& prune : rpc.prune) on_prune(id, prune, now);
  on_idontwant(peer, id, rpc.idontwant);
}

// A GRAFT for a topic we are not in gets no answer (answers would amplify a flood). One may come
// before its sender's subscription does: that is tolerated.
void GossipRouter::State::on_graft(GossipPeer const& peer, PeerId const& id,
                                   std::string const& topic, Instant now) {
  auto const members = mesh.find(topic);
  if (members == mesh.end() || members->second.contains(id)) return;
  if (backing_off(topic, id, now)) {
    scores.misbehaved(id);
    if (now - backoffs.at(topic).at(id).since < p.graft_flood) scores.misbehaved(id);
    return refuse_graft(id, topic, now);
  }
  if (scores.score(id, now) < 0) return refuse_graft(id, topic, now);
  if (members->second.size() >= p.mesh_high && peer.link == Link::inbound)
    return refuse_graft(id, topic, now);
  members->second.insert(id);
  scores.meshed(id, topic, now);
}

void GossipRouter::State::refuse_graft(PeerId const& id, std::string const& topic, Instant now) {
  add_backoff(topic, id, p.backoff, now);
  control[id].prune[topic] = static_cast<std::uint64_t>(to_seconds(p.backoff));
}

void GossipRouter::State::on_prune(PeerId const& id, RpcPrune const& told, Instant now) {
  std::string const topic(as_text(told.topic));
  if (!mesh.contains(topic)) return;
  leave_mesh(topic, id);
  // Compared as an integer: a duration of a hostile number of seconds would overflow.
  auto const max_s = static_cast<std::uint64_t>(
      std::chrono::floor<std::chrono::seconds>(limits::gossip_backoff_max).count());
  auto const seconds = std::chrono::seconds(std::min(told.backoff_s, max_s));
  add_backoff(topic, id, told.backoff_s == 0 ? p.backoff : Duration(seconds), now);
}

void GossipRouter::State::on_ihave(GossipPeer& peer, PeerId const& id,
                                   std::vector<RpcIHave> const& told, Instant now) {
  if (scores.score(id, now) < gossip_score::gossip) return;
  std::set<GossipId> wanted;
  for (auto const& ihave : told) {
    if (++peer.ihaves > limits::gossip_ihaves_max) break;
    if (!mesh.contains(std::string(as_text(ihave.topic)))) continue;
    for (auto const& view : ihave.ids) {
      if (peer.ids_asked + wanted.size() >= limits::gossip_ids_asked_max) break;
      if (view.empty() || view.size() > limits::gossip_id_max) continue;
      GossipId message(view.begin(), view.end());
      if (!seen.contains(message)) wanted.insert(std::move(message));
    }
  }
  if (wanted.empty()) return;
  peer.ids_asked += wanted.size();
  auto& ids = control[id].iwant;
  ids.assign(wanted.begin(), wanted.end());
  promises.add(ids[random.below(ids.size())], id, now + p.promise);
}

void GossipRouter::State::on_iwant(PeerId const& id, std::vector<ByteView> const& ids) {
  for (auto const& view : ids) {
    if (view.size() > limits::gossip_id_max) continue;
    auto frame = history.take(GossipId(view.begin(), view.end()), id, p.retransmissions);
    if (frame) send(id, std::move(frame));
  }
}

// Heard from members of a mesh alone: nobody else is forwarded to.
void GossipRouter::State::on_idontwant(GossipPeer& peer, PeerId const& id,
                                       std::vector<ByteView> const& ids) {
  if (ids.empty() || ++peer.idontwants > limits::gossip_idontwants_max) return;
  auto const is_member = [&](auto const& topic) { return topic.second.contains(id); };
  if (!std::ranges::any_of(mesh, is_member)) return;
  for (auto const& view : ids) {
    if (++peer.ids_unwanted > limits::gossip_ids_unwanted_max) return;
    if (view.size() > limits::gossip_id_max) continue;
    peer.unwanted[GossipId(view.begin(), view.end())] = p.idontwant_heartbeats;
  }
}

}  // namespace grapevine
