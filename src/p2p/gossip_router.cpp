#include "grapevine/base/assert.hpp"
#include "p2p/gossip_router_detail.hpp"

#include <algorithm>

namespace grapevine {

std::vector<std::string> gossip_protocols() {
  return {"/meshsub/1.2.0", "/meshsub/1.1.0", "/meshsub/1.0.0"};
}

std::optional<GossipVersion> gossip_version(std::string_view protocol) {
  if (protocol == "/meshsub/1.2.0") return GossipVersion::v1_2;
  if (protocol == "/meshsub/1.1.0") return GossipVersion::v1_1;
  if (protocol == "/meshsub/1.0.0") return GossipVersion::v1_0;
  return std::nullopt;
}

GossipRouter::State::State(Identity who, std::uint64_t seqno_first, Random& source,
                           GossipParameters parameters)
    : identity(std::move(who)),
      self(PeerId::from_ed25519(identity.public_key().raw())),
      seqno_next(seqno_first),
      random(source),
      p(parameters),
      seen(parameters.seen, limits::gossip_seen_max),
      floors(limits::gossip_authors_max),
      history(parameters.history, limits::gossip_history_bytes_max) {
  if (!p.authors_count_up) return;
  seen.on_forgotten([this](GossipId const& id) {
    ByteView const bytes = id;
    auto const author = PeerId::from_bytes(bytes.first(bytes.size() - sizeof(std::uint64_t)));
    ASSERT(author.has_value());  // see RpcAuthor
    floors.raise(*author, read_be<std::uint64_t>(bytes.last(sizeof(std::uint64_t))));
  });
}

GossipRouter::GossipRouter(Identity identity, std::uint64_t seqno_first, Random& random,
                           GossipParameters parameters)
    : state_(std::make_unique<State>(std::move(identity), seqno_first, random, parameters)) {}
GossipRouter::~GossipRouter() = default;
GossipRouter::GossipRouter(GossipRouter&&) noexcept = default;

void GossipRouter::add_peer(PeerId const& peer, Link link) {
  if (peer == state_->self) return;
  auto const [at, fresh] = state_->peers.try_emplace(peer);
  if (!fresh) return;
  at->second.link = link;
  state_->scores.returned(peer);
}

void GossipRouter::remove_peer(PeerId const& peer) {
  auto const found = state_->peers.find(peer);
  if (found == state_->peers.end()) return;
  close(peer);
  for (auto const& topic : found->second.topics) {
    auto const announced = state_->topics.find(topic);
    announced->second.erase(peer);
    if (announced->second.empty()) state_->topics.erase(announced);
  }
  state_->peers.erase(found);
  state_->scores.left(peer);
  state_->promises.forget(peer);
}

std::vector<GossipFrame> GossipRouter::open(PeerId const& peer, GossipVersion version) {
  auto const found = state_->peers.find(peer);
  ASSERT(found != state_->peers.end());
  found->second.version = version;
  found->second.open = true;
  std::set<std::string> topics;
  for (auto const& [topic, members] : state_->mesh) topics.insert(topic);
  return subscription_frames(topics, true);
}

void GossipRouter::close(PeerId const& peer) {
  auto const found = state_->peers.find(peer);
  if (found == state_->peers.end()) return;
  found->second.open = false;
  found->second.unwanted.clear();
  state_->leave_meshes(peer);
}

Result<> GossipRouter::receive(PeerId const& peer, ByteView bytes, Instant now) {
  auto& s = *state_;
  auto const found = s.peers.find(peer);
  if (found == s.peers.end()) return {};
  auto const graylisted = [&] { return s.scores.score(peer, now) < gossip_score::graylist; };
  if (graylisted()) {
    s.reject("graylisted");
    return {};
  }
  auto rpc = decode_rpc(bytes);
  if (!rpc) {
    s.scores.misbehaved(peer);
    s.reject("malformed");
    return tl::unexpected(std::move(rpc).error());
  }
  for (auto const& what : rpc->subscriptions) s.on_subscription(found->second, peer, what);
  for (auto const& message : rpc->messages) {
    if (graylisted()) break;
    s.on_message(peer, message, now);
  }
  if (!graylisted()) s.on_control(found->second, peer, *rpc, now);
  s.flush_control();
  return {};
}

void GossipRouter::State::reject_invalid(PeerId const& via, std::string_view reason) {
  scores.sent_invalid(via);
  reject(reason);
}

// The order is from cheap to dear: form, topic, whether it is known, and only then the signature.
// An id counts as seen after the signature held: otherwise a forger could silence the author.
void GossipRouter::State::on_message(PeerId const& via, RpcMessage const& message, Instant now) {
  ++counters.messages_in;
  auto const author = read_author(message);
  if (!author) return reject_invalid(via, "malformed");
  promises.keep(author->id);
  std::string const topic(as_text(*message.topic));
  if (!mesh.contains(topic)) return reject("topic");
  if (author->from == self) return reject("own");
  if (seen.contains(author->id)) {
    ++counters.duplicates;
    auto const pending = judging.find(author->id);
    if (pending != judging.end()) pending->second.senders.insert(via);
    return;
  }
  // No blame: who came late to the topic cannot know it for one.
  if (floors.covers(author->from, author->seqno)) return reject("replay");
  if (judging.size() >= limits::gossip_validations_max) return reject("overload");
  if (!check_signature(message, author->from)) return reject_invalid(via, "signature");

  seen.insert(author->id, now);
  auto const data = message.data.value_or(ByteView{});
  if (data.size() >= p.idontwant_bytes) warn_of_large(author->id, topic, via);
  judging.emplace(author->id, Judging{topic, author->from, message_frame(message), via, {via}});
  actions.push_back(GossipCheck{author->id, GossipMessage{topic, author->from, author->seqno,
                                                          Bytes(data.begin(), data.end()), via}});
}

// IDONTWANT, sent before the judgement: its use is that it overtakes the message.
void GossipRouter::State::warn_of_large(GossipId const& id, std::string const& topic,
                                        PeerId const& via) {
  GossipControl warning;
  warning.idontwant.push_back(id);
  for (auto const& frame : id_frames(warning))
    for (auto const& peer : mesh.at(topic))
      if (peer != via && peers.at(peer).version >= GossipVersion::v1_2) send(peer, frame);
}

void GossipRouter::judged(GossipId const& id, Verdict verdict) {
  auto& s = *state_;
  auto const found = s.judging.find(id);
  if (found == s.judging.end()) return;
  auto const message = std::move(found->second);
  s.judging.erase(found);
  switch (verdict) {
    case Verdict::accept:
      ++s.counters.delivered;
      if (s.peers.contains(message.first)) s.scores.delivered_first(message.first);
      s.history.put(id, message.topic, message.frame);
      s.forward(id, message);
      return;
    case Verdict::ignore:
      s.reject("ignored");
      return;
    case Verdict::reject:
      s.reject("refused");
      for (auto const& sender : message.senders)
        if (s.peers.contains(sender)) s.scores.sent_invalid(sender);
      return;
  }
}

void GossipRouter::State::forward(GossipId const& id, Judging const& message) {
  auto const members = mesh.find(message.topic);
  if (members == mesh.end()) return;
  for (auto const& peer : members->second) {
    if (message.senders.contains(peer) || peer == message.from) continue;
    if (!peers.at(peer).unwanted.contains(id)) send(peer, message.frame);
  }
}

Result<GossipRouter::Published> GossipRouter::publish(std::string const& topic, ByteView data,
                                                      Instant now) {
  auto& s = *state_;
  if (topic.size() > limits::gossip_topic_name_max)
    return fail(Errc::oversize, "topic name of " + std::to_string(topic.size()) + " bytes");
  Bytes seqno;
  append_be<std::uint64_t>(seqno, s.seqno_next);
  RpcMessage message;
  message.from = s.self.bytes();
  message.data = data;
  message.seqno = seqno;
  message.topic = as_bytes(topic);
  auto const signature = s.identity.sign(signed_bytes(message));
  message.signature = signature;
  auto const frame = message_frame(message);
  if (frame->size() > limits::gossip_rpc_sent_max)
    return fail(Errc::oversize, "gossip message of " + std::to_string(data.size()) + " bytes");

  GossipId id(s.self.bytes().begin(), s.self.bytes().end());
  append(id, seqno);
  s.seen.insert(id, now);
  s.history.put(id, topic, frame);
  auto const to = s.audience(topic, now);
  for (auto const& peer : to) s.send(peer, frame);
  ++s.counters.published;
  return Published{s.seqno_next++, to.size()};
}

// Whom our own messages go to: everyone we think well enough of, or the mesh or fanout alone.
std::set<PeerId> GossipRouter::State::audience(std::string const& topic, Instant now) {
  std::set<PeerId> to;
  auto const members = mesh.find(topic);
  if (members != mesh.end()) {
    to = members->second;
  } else {
    auto& outside = fanout[topic];
    outside.published = now;
    fill_fanout(topic, outside, now);
    to = outside.peers;
  }
  if (!p.flood_publish) return to;
  auto const everyone = candidates(topic, [&](PeerId const& id, GossipPeer const&) {
    return scores.score(id, now) >= gossip_score::publish;
  });
  to.insert(everyone.begin(), everyone.end());
  return to;
}

void GossipRouter::subscribe(std::string const& topic, Instant now) {
  auto& s = *state_;
  if (!s.mesh.try_emplace(topic).second) return;
  s.announce(topic, true);
  s.fanout.erase(topic);
  auto wanted = s.graftable(topic, now);
  if (wanted.size() > s.p.mesh) wanted.resize(s.p.mesh);
  for (auto const& peer : wanted) s.graft(topic, peer, now);
  s.flush_control();
}

void GossipRouter::unsubscribe(std::string const& topic, Instant now) {
  auto& s = *state_;
  auto const found = s.mesh.find(topic);
  if (found == s.mesh.end()) return;
  auto const members = found->second;
  for (auto const& peer : members) s.prune(topic, peer, s.p.backoff_leaving, now);
  s.flush_control();
  s.mesh.erase(topic);
  s.announce(topic, false);
}

void GossipRouter::State::announce(std::string const& topic, bool subscribe) {
  for (auto const& frame : subscription_frames({topic}, subscribe))
    for (auto const& [id, peer] : peers)
      if (peer.open) send(id, frame, true);
}

void GossipRouter::State::flush_control() {
  for (auto const& [peer, what] : control) {
    for (auto& frame : mesh_frames(what)) send(peer, std::move(frame), true);
    for (auto& frame : id_frames(what)) send(peer, std::move(frame));
  }
  control.clear();
}

std::vector<GossipAction> GossipRouter::take_actions() {
  return std::exchange(state_->actions, {});
}

std::set<PeerId> GossipRouter::mesh(std::string const& topic) const {
  auto const found = state_->mesh.find(topic);
  return found == state_->mesh.end() ? std::set<PeerId>{} : found->second;
}
std::vector<PeerId> GossipRouter::topic_peers(std::string const& topic) const {
  auto const found = state_->topics.find(topic);
  if (found == state_->topics.end()) return {};
  return {found->second.begin(), found->second.end()};
}
std::map<std::string, std::set<PeerId>> const& GossipRouter::topics_seen() const {
  return state_->topics;
}
std::uint64_t GossipRouter::seqno_next() const { return state_->seqno_next; }
double GossipRouter::score(PeerId const& peer, Instant now) const {
  return state_->scores.score(peer, now);
}
GossipRouter::Counters const& GossipRouter::counters() const { return state_->counters; }

GossipRouter::Held GossipRouter::held() const {
  auto const& s = *state_;
  Held held{.topics = s.topics.size(),
            .seen = s.seen.size(),
            .floors = s.floors.size(),
            .history = s.history.size(),
            .history_bytes = s.history.bytes(),
            .promises = s.promises.size(),
            .backoffs = 0,
            .judging = s.judging.size(),
            .scores = s.scores.size(),
            .unwanted = 0};
  for (auto const& [topic, peers] : s.backoffs) held.backoffs += peers.size();
  for (auto const& [id, peer] : s.peers) held.unwanted += peer.unwanted.size();
  return held;
}

}  // namespace grapevine
