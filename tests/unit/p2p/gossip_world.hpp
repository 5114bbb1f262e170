// Gossip routers joined by links in virtual time: each link has a delay of 5 to 50 ms and
// carries a megabyte a second each way, in order; each router beats once a second at its own phase.
// Everything a router judges is accepted and counted.
#pragma once

#include "grapevine/p2p/gossip.hpp"
#include "grapevine/wire/framing.hpp"

#include <doctest/doctest.h>

#include <map>
#include <memory>
#include <set>
#include <vector>

namespace grapevine::testing {

inline Identity gossip_identity(std::uint64_t seed) {
  SeededRandom random(seed * 7919 + 1);
  return Identity::generate(random);
}
inline PeerId gossip_id(Identity const& identity) {
  return PeerId::from_ed25519(identity.public_key().raw());
}
// An RPC without its length prefix.
inline ByteView gossip_body(ByteView frame) {
  auto const split = split_frame(frame, limits::gossip_rpc_sent_max).value();
  REQUIRE(frame.size() == split.size);
  return split.message;
}

class GossipWorld {
 public:
  GossipWorld(std::size_t count, std::uint64_t seed, GossipParameters parameters = {})
      : random_(seed) {
    for (std::size_t i = 0; i < count; ++i) add(parameters);
  }

  std::size_t add(GossipParameters parameters = {}) {
    auto const index = nodes_.size();
    auto const identity = gossip_identity(index);
    nodes_.push_back(std::make_unique<Node>(identity, 1000 * (index + 1), parameters));
    nodes_.back()->next_beat = now_ + Duration(random_.below(1'000'000'000));
    index_[gossip_id(identity)] = index;
    return index;
  }
  void link(std::size_t dialler, std::size_t other) {
    auto const delay = Duration(std::chrono::milliseconds(5 + random_.below(46)));
    if (dialler == other) return;
    if (!links_.try_emplace(key(dialler, other), Link{++links_made_, delay, {}}).second) return;
    node(dialler).router.add_peer(id(other), GossipRouter::Link::outbound);
    node(other).router.add_peer(id(dialler), GossipRouter::Link::inbound);
    hello(dialler, other);
    hello(other, dialler);
  }
  void unlink(std::size_t a, std::size_t b) {
    if (links_.erase(key(a, b)) == 0) return;
    node(a).router.remove_peer(id(b));
    node(b).router.remove_peer(id(a));
  }
  void kill(std::size_t dead) {
    for (std::size_t i = 0; i < nodes_.size(); ++i) unlink(dead, i);
    node(dead).alive = false;
  }
  void subscribe(std::size_t i, std::string const& topic) {
    node(i).router.subscribe(topic, now_);
    act(i);
  }
  void unsubscribe(std::size_t i, std::string const& topic) {
    node(i).router.unsubscribe(topic, now_);
    act(i);
  }
  std::uint64_t publish(std::size_t i, std::string const& topic, ByteView data) {
    auto const published = node(i).router.publish(topic, data, now_);
    act(i);
    return published.value().seqno;
  }
  void run(Duration duration) {
    auto const end = now_ + duration;
    for (;;) {
      auto due = end;
      std::size_t beats = nodes_.size();
      for (std::size_t i = 0; i < nodes_.size(); ++i)
        if (nodes_[i]->alive && nodes_[i]->next_beat < due) due = nodes_[beats = i]->next_beat;
      if (!wire_.empty() && wire_.begin()->first.first <= due) {
        deliver();
        continue;
      }
      now_ = due;
      if (beats == nodes_.size()) return;
      nodes_[beats]->next_beat += std::chrono::seconds(1);
      nodes_[beats]->router.heartbeat(now_);
      act(beats);
    }
  }

  GossipRouter& router(std::size_t i) { return node(i).router; }
  [[nodiscard]] PeerId id(std::size_t i) const { return nodes_.at(i)->id; }
  // How often `reader` was given message `seqno` of `author`.
  [[nodiscard]] std::size_t times(std::size_t reader, std::size_t author,
                                  std::uint64_t seqno) const {
    auto const& got = nodes_.at(reader)->got;
    auto const found = got.find({id(author), seqno});
    return found == got.end() ? 0 : found->second;
  }
  [[nodiscard]] Instant now() const { return now_; }
  [[nodiscard]] std::size_t size() const { return nodes_.size(); }
  [[nodiscard]] std::uint64_t frames_sent() const { return sequence_; }
  [[nodiscard]] std::size_t largest_frame() const { return largest_frame_; }

 private:
  struct Node {
    Node(Identity const& identity, std::uint64_t seqno, GossipParameters parameters)
        : id(gossip_id(identity)), random(seqno), router(identity, seqno, random, parameters) {}
    PeerId id;
    SeededRandom random;
    GossipRouter router;
    Instant next_beat{};
    bool alive = true;
    std::map<std::pair<PeerId, std::uint64_t>, std::size_t> got;
  };
  using Key = std::pair<std::size_t, std::size_t>;
  static Key key(std::size_t a, std::size_t b) { return std::minmax(a, b); }
  Node& node(std::size_t i) { return *nodes_.at(i); }

  void hello(std::size_t from, std::size_t to) {
    for (auto& frame : node(from).router.open(id(to), GossipVersion::v1_2)) put(from, to, frame);
  }
  void put(std::size_t from, std::size_t to, std::shared_ptr<Bytes const> frame) {
    largest_frame_ = std::max(largest_frame_, frame->size());
    auto const link = links_.find(key(from, to));
    if (link == links_.end()) return;
    auto& free = link->second.free[from < to ? 0 : 1];
    free = std::max(free, now_) + std::chrono::microseconds(frame->size());
    wire_[{free + link->second.delay, sequence_++}] = {from, to, link->second.number,
                                                       std::move(frame)};
  }
  void deliver() {
    auto const at = wire_.begin();
    now_ = at->first.first;
    auto const [from, to, number, frame] = std::move(at->second);
    wire_.erase(at);
    auto const link = links_.find(key(from, to));
    if (link == links_.end() || link->second.number != number) return;
    CHECK(node(to).router.receive(id(from), gossip_body(*frame), now_).has_value());
    act(to);
  }
  void act(std::size_t i) {
    for (auto actions = node(i).router.take_actions(); !actions.empty();
         actions = node(i).router.take_actions()) {
      for (auto& action : actions) {
        if (auto* send = std::get_if<GossipSend>(&action)) {
          put(i, index_.at(send->to), std::move(send->frame));
        } else if (auto* check = std::get_if<GossipCheck>(&action)) {
          ++node(i).got[{check->message.from, check->message.seqno}];
          node(i).router.judged(check->id, Verdict::accept);
        }
      }
    }
  }

  struct InFlight {
    std::size_t from;
    std::size_t to;
    std::uint64_t link;
    std::shared_ptr<Bytes const> frame;
  };
  SeededRandom random_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::map<PeerId, std::size_t> index_;
  struct Link {
    std::uint64_t number;  // a frame dies with the link it was sent on
    Duration delay;
    std::array<Instant, 2> free;  // when the last frame of a direction has left
  };
  std::map<Key, Link> links_;
  std::uint64_t links_made_ = 0;
  std::map<std::pair<Instant, std::uint64_t>, InFlight> wire_;
  std::uint64_t sequence_ = 0;
  std::size_t largest_frame_ = 0;
  Instant now_{};
};

}  // namespace grapevine::testing
