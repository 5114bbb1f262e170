// The inside of GossipRouter, split by what a function is about: messages and membership in
// gossip_router.cpp, what peers tell us in gossip_control.cpp, the mesh in gossip_mesh.cpp.
#pragma once

#include "p2p/gossip_promises_detail.hpp"
#include "p2p/gossip_rpc_detail.hpp"
#include "p2p/gossip_score_detail.hpp"

#include <functional>

namespace grapevine {

struct GossipPeer {
  GossipRouter::Link link = GossipRouter::Link::inbound;
  GossipVersion version = GossipVersion::v1_0;
  bool open = false;  // our stream to it is
  std::set<std::string> topics;
  std::map<GossipId, std::uint32_t> unwanted;  // id -> heartbeats left
  // of this heartbeat
  std::size_t ihaves = 0;
  std::size_t ids_asked = 0;
  std::size_t idontwants = 0;
  std::size_t ids_unwanted = 0;
};

struct GossipRouter::State {
  State(Identity who, std::uint64_t seqno_first, Random& source, GossipParameters parameters);

  Identity identity;
  PeerId self;
  std::uint64_t seqno_next;
  Random& random;
  GossipParameters p;

  std::map<PeerId, GossipPeer> peers;
  std::map<std::string, std::set<PeerId>> topics;  // as announced by peers
  std::map<std::string, std::set<PeerId>> mesh;    // its keys are the topics we are in
  struct Fanout {
    std::set<PeerId> peers;
    Instant published{};
  };
  std::map<std::string, Fanout> fanout;  // topics we publish to without being in them
  struct Backoff {
    Instant since{};
    Instant until{};
  };
  std::map<std::string, std::map<PeerId, Backoff>> backoffs;
  SeenCache seen;
  SequenceFloors floors;
  HistoryCache history;
  GossipScores scores;
  struct Judging {
    std::string topic;
    PeerId from;
    GossipFrame frame;
    PeerId first;
    std::set<PeerId> senders;
  };
  std::map<GossipId, Judging> judging;
  GossipPromises promises;
  std::uint64_t heartbeats = 0;

  std::map<PeerId, GossipControl> control;  // of this event
  std::vector<GossipAction> actions;
  Counters counters;

  // messages
  void on_message(PeerId const& via, RpcMessage const& message, Instant now);
  void reject(std::string_view reason) { ++counters.rejected[std::string(reason)]; }
  void reject_invalid(PeerId const& via, std::string_view reason);
  void warn_of_large(GossipId const& id, std::string const& topic, PeerId const& via);
  void forward(GossipId const& id, Judging const& message);
  [[nodiscard]] std::set<PeerId> audience(std::string const& topic, Instant now);

  // control
  void on_subscription(GossipPeer& peer, PeerId const& id, RpcSubscription const& what);
  void on_control(GossipPeer& peer, PeerId const& id, Rpc const& rpc, Instant now);
  void on_graft(GossipPeer const& peer, PeerId const& id, std::string const& topic, Instant now);
  void on_prune(PeerId const& id, RpcPrune const& prune, Instant now);
  void on_ihave(GossipPeer& peer, PeerId const& id, std::vector<RpcIHave> const& told, Instant now);
  void on_iwant(PeerId const& id, std::vector<ByteView> const& ids);
  void on_idontwant(GossipPeer& peer, PeerId const& id, std::vector<ByteView> const& ids);
  void refuse_graft(PeerId const& id, std::string const& topic, Instant now);

  // mesh
  using Wanted = std::function<bool(PeerId const&, GossipPeer const&)>;
  // Peers that announced `topic` and can be written to, in random order.
  [[nodiscard]] std::vector<PeerId> candidates(std::string const& topic, Wanted const& wanted);
  [[nodiscard]] std::vector<PeerId> graftable(std::string const& topic, Instant now);
  void graft(std::string const& topic, PeerId const& peer, Instant now);
  void prune(std::string const& topic, PeerId const& peer, Duration backoff, Instant now);
  void leave_mesh(std::string const& topic, PeerId const& peer);
  void leave_meshes(PeerId const& peer);
  void add_backoff(std::string const& topic, PeerId const& peer, Duration backoff, Instant now);
  [[nodiscard]] bool backing_off(std::string const& topic, PeerId const& peer, Instant now) const;
  [[nodiscard]] std::size_t outbound(std::set<PeerId> const& members) const;
  void fill_fanout(std::string const& topic, Fanout& to, Instant now);
  void maintain_mesh(std::string const& topic, Instant now);
  void cut_mesh(std::string const& topic, Instant now);
  void graft_opportunistically(std::string const& topic, Instant now);
  void maintain_fanout(Instant now);
  void tell_history(std::string const& topic, std::set<PeerId> const& not_to, Instant now);
  void expire(Instant now);

  void send(PeerId const& to, GossipFrame frame, bool keep = false) {
    actions.push_back(GossipSend{to, std::move(frame), keep});
  }
  void announce(std::string const& topic, bool subscribe);
  void flush_control();
};

}  // namespace grapevine
