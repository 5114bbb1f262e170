// What a gossip router remembers of messages: SeenCache (ids, so that a message counts once),
// SequenceFloors (what of an author was seen and forgotten) and HistoryCache (whole messages of the
// last heartbeats, so that others can ask for them). All are bounded; the oldest goes first. Owned
// by the router.
// Source: gossipsub v1.0, "message cache" and "seen cache"; the floors are the idea of go-libp2p's
// basic seqno validator, with room for messages that overtake each other.
#pragma once

#include "grapevine/p2p/gossip.hpp"

#include <deque>
#include <functional>
#include <list>
#include <map>
#include <set>

namespace grapevine {

using GossipFrame = std::shared_ptr<Bytes const>;

// Of each author the greatest sequence number that the seen cache has forgotten. Where every
// author counts up, what is not above it and not in the cache has been here before, or is so late
// that a younger message has lived its time: both may be refused.
class SequenceFloors {
 public:
  explicit SequenceFloors(std::size_t authors_max) : max_(authors_max) {}
  void raise(PeerId const& author, std::uint64_t seqno);
  [[nodiscard]] bool covers(PeerId const& author, std::uint64_t seqno) const;
  [[nodiscard]] std::size_t size() const { return floors_.size(); }

 private:
  std::size_t max_;
  std::list<PeerId> order_;  // the one raised longest ago first
  struct Floor {
    std::uint64_t seqno = 0;
    std::list<PeerId>::iterator place;
  };
  std::map<PeerId, Floor> floors_;
};

class SeenCache {
 public:
  SeenCache(Duration lifetime, std::size_t max) : lifetime_(lifetime), max_(max) {}
  [[nodiscard]] bool contains(GossipId const& id) const { return ids_.contains(id); }
  // Called with each id that goes.
  void on_forgotten(std::function<void(GossipId const&)> listener) {
    listener_ = std::move(listener);
  }
  void insert(GossipId const& id, Instant now);
  void expire(Instant now);
  [[nodiscard]] std::size_t size() const { return ids_.size(); }

 private:
  void drop_oldest();

  Duration lifetime_;
  std::size_t max_;
  std::set<GossipId> ids_;
  struct Entry {
    Instant at;
    std::set<GossipId>::iterator id;
  };
  std::deque<Entry> order_;
  std::function<void(GossipId const&)> listener_;
};

class HistoryCache {
 public:
  HistoryCache(std::size_t windows, std::size_t bytes_max) : windows_(windows), max_(bytes_max) {}
  void put(GossipId const& id, std::string const& topic, GossipFrame frame);
  // The message for `peer`, unless it is gone or was sent to it `times_max` times.
  [[nodiscard]] GossipFrame take(GossipId const& id, PeerId const& peer, std::uint32_t times_max);
  // Ids of a topic in the newest `windows` windows.
  [[nodiscard]] std::vector<GossipId> ids(std::string const& topic, std::size_t windows) const;
  void shift();  // a heartbeat passed
  [[nodiscard]] std::size_t size() const { return messages_.size(); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  void drop_oldest();

  std::size_t windows_;
  std::size_t max_;
  std::size_t bytes_ = 0;
  std::uint64_t window_ = 0;
  struct Message {
    std::string topic;
    GossipFrame frame;
    std::map<PeerId, std::uint32_t> sent;
  };
  std::map<GossipId, Message> messages_;
  struct Entry {
    std::uint64_t window;
    GossipId id;
  };
  std::deque<Entry> order_;
};

}  // namespace grapevine
