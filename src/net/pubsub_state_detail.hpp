// The inside of PubSub: a peer is a task that keeps one stream to it open and writes a bounded
// queue to it; what comes on its stream to us is read by another. The router decides everything
// else.
#pragma once

#include "grapevine/net/pubsub.hpp"
#include "grapevine/p2p/gossip.hpp"
#include "grapevine/runtime/gate.hpp"

#include <deque>

namespace grapevine {

struct PubSub::State {
  State(Doors doors, Host& host, Options options);

  struct Peer {
    PeerId id;
    std::deque<GossipSend> queue;
    Gate queued;
    Gate left;
    bool gone = false;
    ByteStream* out = nullptr;  // while it is open
    ByteStream* in = nullptr;   // the newest one it opened to us
  };
  using PeerHandle = std::shared_ptr<Peer>;
  struct Subscription {
    Validator validate;
    Receiver receive;
  };

  Doors doors;
  Host& host;
  GossipRouter router;
  std::map<PeerId, PeerHandle> peers;
  std::map<std::string, std::shared_ptr<Subscription const>> subscriptions;
  std::uint64_t queue_dropped = 0;
  bool acting = false;
  std::shared_ptr<State*> alive;  // host listeners cannot be removed: they look here first
  TaskGroup tasks;

  void start();
  Awaitable<> stop();
  void on_event(Host::Event const& event);
  [[nodiscard]] PeerHandle meet(PeerId const& id);
  void part(PeerId const& id);

  Awaitable<> beat();
  Awaitable<> talk(PeerHandle peer);
  Awaitable<> talk_on(PeerStream stream, PeerHandle peer);
  Awaitable<> write_queue(ByteStream& stream, PeerHandle peer);
  Awaitable<> listen(PeerStream stream);
  Awaitable<> listen_on(ByteStream& stream, PeerHandle peer);

  void act();  // performs what the router wants done
  void judge(GossipCheck const& check);
  void enqueue(GossipSend send);
  [[nodiscard]] bool flushed() const;
  [[nodiscard]] Instant now() const { return doors.clock.now(); }
};

}  // namespace grapevine
