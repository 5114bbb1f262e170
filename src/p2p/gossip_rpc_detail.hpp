// The RPC of gossipsub on the wire: read into views, written in pieces below a size, signed and
// checked. Topics and ids are bytes, not text; unknown fields are skipped. Pure; any thread.
// Source: libp2p specs, pubsub/README.md (RPC, signing) and pubsub/gossipsub (control).
#pragma once

#include "grapevine/p2p/gossip.hpp"
#include "p2p/gossip_cache_detail.hpp"

namespace grapevine {

// Views into the RPC they were read from.
struct RpcMessage {
  std::optional<ByteView> from, data, seqno, topic, signature, key;
};
struct RpcSubscription {
  bool subscribe = false;
  ByteView topic;
};
struct RpcIHave {
  ByteView topic;
  std::vector<ByteView> ids;
};
struct RpcPrune {
  ByteView topic;
  std::uint64_t backoff_s = 0;  // 0: not given
};
struct Rpc {
  std::vector<RpcSubscription> subscriptions;
  std::vector<RpcMessage> messages;
  std::vector<RpcIHave> ihave;
  std::vector<ByteView> iwant;
  std::vector<ByteView> graft;
  std::vector<RpcPrune> prune;
  std::vector<ByteView> idontwant;
};
// Errc::limit_exceeded above limits::gossip_rpc_fields_max.
[[nodiscard]] Result<Rpc> decode_rpc(ByteView bytes);

// What one peer is to be told; the pieces of one kind share an RPC as long as they fit.
struct GossipControl {
  std::set<std::string> graft;
  std::map<std::string, std::uint64_t> prune;  // topic -> back-off in seconds
  std::map<std::string, std::vector<GossipId>> ihave;
  std::vector<GossipId> iwant;
  std::vector<GossipId> idontwant;
};
[[nodiscard]] std::vector<GossipFrame> mesh_frames(GossipControl const& control);  // graft, prune
[[nodiscard]] std::vector<GossipFrame> id_frames(GossipControl const& control);    // the others
[[nodiscard]] std::vector<GossipFrame> subscription_frames(std::set<std::string> const& topics,
                                                           bool subscribe);
// An RPC that holds this one message.
[[nodiscard]] GossipFrame message_frame(RpcMessage const& message);

// The bytes under the signature: the domain, then the message without signature and key.
[[nodiscard]] Bytes signed_bytes(RpcMessage const& message);
struct RpcAuthor {
  PeerId from;
  std::uint64_t seqno = 0;
  GossipId id;  // the bytes of the one, then of the other
};
// The cheap part: an author, an 8-byte seqno, a topic, something like a signature.
[[nodiscard]] Result<RpcAuthor> read_author(RpcMessage const& message);
// The expensive part. The key is inside the author's id, or sent along and must hash to it.
[[nodiscard]] Result<> check_signature(RpcMessage const& message, PeerId const& from);

}  // namespace grapevine
