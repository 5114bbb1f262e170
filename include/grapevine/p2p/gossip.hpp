// GossipRouter: gossipsub 1.0 to 1.2 (libp2p specs, pubsub/gossipsub) as a state machine.
// It decides whom a message goes to, who is in which mesh and who misbehaves; it never reads a
// clock, a socket or a stream. Everything it wants done comes out of take_actions(), in order.
//
//   bytes of a peer -> receive() -> GossipCheck -> judged() -> GossipSend to the mesh
//                               `-> GossipSend (PRUNE, IWANT, IDONTWANT, messages asked for)
//   heartbeat()     -> grafts, prunes, IHAVE; forgets what is old
//
// StrictSign; a message's id is its author's bytes, then its seqno. What a peer can make it
// remember is bounded by base/limits.hpp. Owned by PubSub; one thread.
#pragma once

#include "grapevine/base/limits.hpp"
#include "grapevine/base/random.hpp"
#include "grapevine/crypto/identity.hpp"
#include "grapevine/p2p/gossip_message.hpp"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace grapevine {

using GossipId = Bytes;

enum class GossipVersion : std::uint8_t { v1_0, v1_1, v1_2 };
[[nodiscard]] std::vector<std::string> gossip_protocols();  // the newest first
[[nodiscard]] std::optional<GossipVersion> gossip_version(std::string_view protocol);

// Defaults of go-libp2p-pubsub, with the flood publishing that the specification asks for.
struct GossipParameters {
  std::size_t mesh = 6;
  std::size_t mesh_low = 5;
  std::size_t mesh_high = 12;
  std::size_t mesh_by_score = 4;  // kept for their score when a mesh is cut
  std::size_t mesh_outbound = 2;  // of each mesh, at least, on connections we dialled
  std::size_t lazy = 6;
  double lazy_share = 0.25;
  bool flood_publish = true;
  std::size_t history = 5;  // heartbeats a message can be asked for
  std::size_t history_told = 3;
  std::uint32_t retransmissions = 3;
  std::size_t idontwant_bytes = 1024;
  std::uint32_t idontwant_heartbeats = 3;
  std::uint64_t opportunistic_heartbeats = 60;
  std::size_t opportunistic_grafts = 2;
  Duration heartbeat = std::chrono::seconds(1);
  Duration seen = std::chrono::seconds(120);
  Duration fanout = std::chrono::seconds(60);
  Duration backoff = std::chrono::seconds(60);
  Duration backoff_leaving = std::chrono::seconds(10);
  Duration graft_flood = std::chrono::seconds(10);
  Duration promise = std::chrono::seconds(3);
  // Every author in these topics counts its seqnos up, as this router does (js-libp2p draws them at
  // random): a message that the seen cache has forgotten is then refused for ever.
  bool authors_count_up = false;
};

// `frame` is the RPC with its length prefix, shared by all it goes to. What is not `keep` may be
// dropped when the peer is slow.
struct GossipSend {
  PeerId to;
  std::shared_ptr<Bytes const> frame;
  bool keep = false;
};
// A new message with a good signature: judge it, then call judged() with its id.
struct GossipCheck {
  GossipId id;
  GossipMessage message;
};
using GossipAction = std::variant<GossipSend, GossipCheck>;

class GossipRouter {
 public:
  // `seqno_first` must be above every seqno this identity has used.
  GossipRouter(Identity identity, std::uint64_t seqno_first, Random& random,
               GossipParameters parameters = {});
  ~GossipRouter();
  GossipRouter(GossipRouter&&) noexcept;
  GossipRouter(GossipRouter const&) = delete;

  enum class Link : std::uint8_t { inbound, outbound };  // who dialled
  void add_peer(PeerId const& peer, Link link);
  void remove_peer(PeerId const& peer);
  // Our stream to the peer is open. Returns what must be written on it first: our subscriptions.
  [[nodiscard]] std::vector<std::shared_ptr<Bytes const>> open(PeerId const& peer,
                                                               GossipVersion version);
  // Our stream to the peer is gone: the peer takes us for gone too, so it leaves our meshes.
  void close(PeerId const& peer);

  // One RPC, without its length prefix. An Error means that the stream is not worth reading on.
  Result<> receive(PeerId const& peer, ByteView rpc, Instant now);
  void judged(GossipId const& id, Verdict verdict);

  void subscribe(std::string const& topic, Instant now);
  void unsubscribe(std::string const& topic, Instant now);
  struct Published {
    std::uint64_t seqno = 0;
    std::size_t peers = 0;
  };
  // Errc::oversize when the RPC would be above limits::gossip_rpc_sent_max.
  Result<Published> publish(std::string const& topic, ByteView data, Instant now);
  void heartbeat(Instant now);

  [[nodiscard]] std::vector<GossipAction> take_actions();

  [[nodiscard]] std::set<PeerId> mesh(std::string const& topic) const;
  [[nodiscard]] std::vector<PeerId> topic_peers(std::string const& topic) const;
  [[nodiscard]] std::map<std::string, std::set<PeerId>> const& topics_seen() const;
  [[nodiscard]] std::uint64_t seqno_next() const;
  [[nodiscard]] double score(PeerId const& peer, Instant now) const;

  struct Counters {
    std::uint64_t messages_in = 0, duplicates = 0, delivered = 0, published = 0;
    std::map<std::string, std::uint64_t> rejected;  // by reason, a fixed set
  };
  [[nodiscard]] Counters const& counters() const;
  // Entries held for others: what a flood must not be able to raise for good.
  struct Held {
    std::size_t topics = 0, seen = 0, floors = 0, history = 0, history_bytes = 0, promises = 0,
                backoffs = 0;
    std::size_t judging = 0, scores = 0, unwanted = 0;
  };
  [[nodiscard]] Held held() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace grapevine
