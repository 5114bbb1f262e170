#include "p2p/gossip_rpc_detail.hpp"

#include "grapevine/wire/framing.hpp"
#include "grapevine/wire/protobuf.hpp"

namespace grapevine {

namespace {

using protobuf::Field;
using protobuf::Reader;
using protobuf::WireType;
using protobuf::Writer;

namespace rpc_field {
constexpr std::uint32_t subscription = 1, message = 2, control = 3;
}
namespace subscription_field {
constexpr std::uint32_t subscribe = 1, topic = 2;
}
namespace message_field {
constexpr std::uint32_t from = 1, data = 2, seqno = 3, topic = 4, signature = 5, key = 6;
}
namespace control_field {
constexpr std::uint32_t ihave = 1, iwant = 2, graft = 3, prune = 4, idontwant = 5;
}
namespace ids_field {  // of IHAVE, GRAFT and PRUNE: the topic; IWANT and IDONTWANT have ids in 1
constexpr std::uint32_t topic = 1, ids = 1, ihave_ids = 2, prune_backoff = 3;
}

// Counts the fields of all levels of one RPC.
class RpcReader {
 public:
  Result<Rpc> read(ByteView bytes) {
    Rpc rpc;
    TRY(each(bytes, [&](Field const& f) -> Result<> {
      if (f.is(rpc_field::subscription, WireType::bytes)) return subscription(f.bytes, rpc);
      if (f.is(rpc_field::message, WireType::bytes)) return message(f.bytes, rpc);
      if (f.is(rpc_field::control, WireType::bytes)) return control(f.bytes, rpc);
      return {};
    }));
    return rpc;
  }

 private:
  template <class Take>
  Result<> each(ByteView bytes, Take take) {
    Reader reader(bytes);
    for (;;) {
      TRY_ASSIGN(auto const field, reader.next());
      if (!field) return {};
      if (++fields_ > limits::gossip_rpc_fields_max)
        return fail(Errc::limit_exceeded, "gossip RPC: too many fields");
      TRY(take(*field));
    }
  }

  Result<> subscription(ByteView bytes, Rpc& rpc) {
    RpcSubscription out;
    TRY(each(bytes, [&](Field const& f) -> Result<> {
      if (f.is(subscription_field::subscribe, WireType::varint)) out.subscribe = f.value != 0;
      if (f.is(subscription_field::topic, WireType::bytes)) out.topic = f.bytes;
      return {};
    }));
    rpc.subscriptions.push_back(out);
    return {};
  }

  Result<> message(ByteView bytes, Rpc& rpc) {
    RpcMessage out;
    TRY(each(bytes, [&](Field const& f) -> Result<> {
      if (f.is(message_field::from, WireType::bytes)) out.from = f.bytes;
      if (f.is(message_field::data, WireType::bytes)) out.data = f.bytes;
      if (f.is(message_field::seqno, WireType::bytes)) out.seqno = f.bytes;
      if (f.is(message_field::topic, WireType::bytes)) out.topic = f.bytes;
      if (f.is(message_field::signature, WireType::bytes)) out.signature = f.bytes;
      if (f.is(message_field::key, WireType::bytes)) out.key = f.bytes;
      return {};
    }));
    rpc.messages.push_back(out);
    return {};
  }

  Result<> control(ByteView bytes, Rpc& rpc) {
    return each(bytes, [&](Field const& f) -> Result<> {
      if (f.is(control_field::ihave, WireType::bytes)) return ihave(f.bytes, rpc);
      if (f.is(control_field::iwant, WireType::bytes)) return ids(f.bytes, rpc.iwant);
      if (f.is(control_field::graft, WireType::bytes)) return graft(f.bytes, rpc);
      if (f.is(control_field::prune, WireType::bytes)) return prune(f.bytes, rpc);
      if (f.is(control_field::idontwant, WireType::bytes)) return ids(f.bytes, rpc.idontwant);
      return {};
    });
  }

  Result<> ihave(ByteView bytes, Rpc& rpc) {
    auto& out = rpc.ihave.emplace_back();
    return each(bytes, [&](Field const& f) -> Result<> {
      if (f.is(ids_field::topic, WireType::bytes)) out.topic = f.bytes;
      if (f.is(ids_field::ihave_ids, WireType::bytes)) out.ids.push_back(f.bytes);
      return {};
    });
  }

  Result<> ids(ByteView bytes, std::vector<ByteView>& out) {
    return each(bytes, [&](Field const& f) -> Result<> {
      if (f.is(ids_field::ids, WireType::bytes)) out.push_back(f.bytes);
      return {};
    });
  }

  Result<> graft(ByteView bytes, Rpc& rpc) {
    auto& topic = rpc.graft.emplace_back();
    return each(bytes, [&](Field const& f) -> Result<> {
      if (f.is(ids_field::topic, WireType::bytes)) topic = f.bytes;
      return {};
    });
  }

  // Peers offered in exchange (field 2) are not taken: we find ours in the topics of the run.
  Result<> prune(ByteView bytes, Rpc& rpc) {
    auto& out = rpc.prune.emplace_back();
    return each(bytes, [&](Field const& f) -> Result<> {
      if (f.is(ids_field::topic, WireType::bytes)) out.topic = f.bytes;
      if (f.is(ids_field::prune_backoff, WireType::varint)) out.backoff_s = f.value;
      return {};
    });
  }

  std::size_t fields_ = 0;
};

GossipFrame framed(ByteView rpc) {
  Bytes out;
  append_frame(out, rpc);
  return std::make_shared<Bytes const>(std::move(out));
}

// Gathers pieces until the next one would not fit, then makes them one RPC.
class FramePacker {
 public:
  enum class Kind : std::uint8_t { control, plain };
  explicit FramePacker(Kind kind) : kind_(kind) {}

  void add(std::uint32_t number, Writer piece) {
    if (!body_.view().empty() && body_.view().size() + piece.view().size() > body_max) finish();
    body_.bytes(number, piece.view());
  }
  // A list of ids is itself cut into pieces, each with its topic, if it has one.
  void add_ids(std::uint32_t number, std::optional<std::string_view> topic,
               std::vector<GossipId> const& ids) {
    Writer piece;
    for (auto const& id : ids) {
      if (piece.view().empty() && topic) piece.string(ids_field::topic, *topic);
      piece.bytes(topic ? ids_field::ihave_ids : ids_field::ids, id);
      if (piece.view().size() + limits::gossip_id_max > body_max)
        add(number, std::exchange(piece, Writer()));
    }
    if (!piece.view().empty()) add(number, std::move(piece));
  }
  [[nodiscard]] std::vector<GossipFrame> take() {
    if (!body_.view().empty()) finish();
    return std::move(frames_);
  }

 private:
  static constexpr std::size_t headers = 16;  // tags and lengths around a body
  static constexpr std::size_t body_max = limits::gossip_control_sent_max - headers;

  void finish() {
    auto const body = std::exchange(body_, Writer());
    if (kind_ == Kind::plain) {
      frames_.push_back(framed(body.view()));
      return;
    }
    Writer rpc;
    rpc.bytes(rpc_field::control, body.view());
    frames_.push_back(framed(rpc.view()));
  }

  Kind kind_;
  Writer body_;
  std::vector<GossipFrame> frames_;
};

// In the order of the field numbers; a field that was absent stays absent.
void write_signed_fields(Writer& out, RpcMessage const& message) {
  if (message.from) out.bytes(message_field::from, *message.from);
  if (message.data) out.bytes(message_field::data, *message.data);
  if (message.seqno) out.bytes(message_field::seqno, *message.seqno);
  if (message.topic) out.bytes(message_field::topic, *message.topic);
}

}  // namespace

Result<Rpc> decode_rpc(ByteView bytes) { return RpcReader().read(bytes); }

std::vector<GossipFrame> mesh_frames(GossipControl const& control) {
  FramePacker packer(FramePacker::Kind::control);
  for (auto const& topic : control.graft) {
    Writer piece;
    piece.string(ids_field::topic, topic);
    packer.add(control_field::graft, std::move(piece));
  }
  for (auto const& [topic, backoff_s] : control.prune) {
    Writer piece;
    piece.string(ids_field::topic, topic);
    piece.varint(ids_field::prune_backoff, backoff_s);
    packer.add(control_field::prune, std::move(piece));
  }
  return packer.take();
}

std::vector<GossipFrame> id_frames(GossipControl const& control) {
  FramePacker packer(FramePacker::Kind::control);
  for (auto const& [topic, ids] : control.ihave) packer.add_ids(control_field::ihave, topic, ids);
  packer.add_ids(control_field::iwant, std::nullopt, control.iwant);
  packer.add_ids(control_field::idontwant, std::nullopt, control.idontwant);
  return packer.take();
}

std::vector<GossipFrame> subscription_frames(std::set<std::string> const& topics, bool subscribe) {
  FramePacker packer(FramePacker::Kind::plain);
  for (auto const& topic : topics) {
    Writer piece;
    piece.varint(subscription_field::subscribe, subscribe ? 1 : 0);
    piece.string(subscription_field::topic, topic);
    packer.add(rpc_field::subscription, std::move(piece));
  }
  return packer.take();
}

GossipFrame message_frame(RpcMessage const& message) {
  Writer body;
  write_signed_fields(body, message);
  if (message.signature) body.bytes(message_field::signature, *message.signature);
  if (message.key) body.bytes(message_field::key, *message.key);
  Writer rpc;
  rpc.bytes(rpc_field::message, body.view());
  return framed(rpc.view());
}

Bytes signed_bytes(RpcMessage const& message) {
  Writer body;
  write_signed_fields(body, message);
  auto const domain = as_bytes("libp2p-pubsub:");
  Bytes out(domain.begin(), domain.end());
  append(out, body.view());
  return out;
}

Result<RpcAuthor> read_author(RpcMessage const& message) {
  if (!message.from || !message.seqno || !message.topic || !message.signature)
    return fail(Errc::malformed, "gossip message: no author, seqno, topic or signature");
  if (message.seqno->size() != sizeof(std::uint64_t))
    return fail(Errc::malformed, "gossip message: seqno is not 8 bytes");
  if (message.signature->size() != sizeof(Signature))
    return fail(Errc::malformed, "gossip message: signature is not 64 bytes");
  TRY_ASSIGN(auto from, PeerId::from_bytes(*message.from));
  GossipId id(message.from->begin(), message.from->end());
  append(id, *message.seqno);
  return RpcAuthor{from, read_be<std::uint64_t>(*message.seqno), std::move(id)};
}

Result<> check_signature(RpcMessage const& message, PeerId const& from) {
  PublicKey key;
  if (message.key) {
    TRY_ASSIGN(key, PublicKey::from_protobuf(*message.key));
    if (PeerId::from_ed25519(key.raw()) != from)
      return fail(Errc::bad_key, "gossip message: key of another peer than its author");
  } else {
    TRY_ASSIGN(auto const raw, from.ed25519());
    TRY_ASSIGN(key, PublicKey::from_raw(raw));
  }
  if (!key.verifies(signed_bytes(message), *message.signature))
    return fail(Errc::bad_signature, "gossip message of " + from.text());
  return {};
}

}  // namespace grapevine
