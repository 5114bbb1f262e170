#include "grapevine/base/limits.hpp"
#include "grapevine/p2p/noise.hpp"
#include "grapevine/wire/protobuf.hpp"

#include <algorithm>

namespace grapevine::noise {
namespace {

using protobuf::WireType;

constexpr std::uint32_t field_identity_key = 1;
constexpr std::uint32_t field_identity_signature = 2;
constexpr std::uint32_t field_extensions = 4;
constexpr std::uint32_t field_stream_muxers = 2;  // of the extensions

struct Payload {
  ByteView identity_key;
  ByteView identity_signature;
  ByteView extensions;
};

Result<Payload> decode(ByteView bytes) {
  Payload payload;
  protobuf::Reader reader(bytes);
  while (true) {
    TRY_ASSIGN(auto const field, reader.next());
    if (!field) return payload;
    if (field->is(field_identity_key, WireType::bytes)) payload.identity_key = field->bytes;
    if (field->is(field_identity_signature, WireType::bytes))
      payload.identity_signature = field->bytes;
    if (field->is(field_extensions, WireType::bytes)) payload.extensions = field->bytes;
  }
}

// An unreasonable list counts as none: multistream then decides (as go does).
Result<std::vector<std::string>> decode_muxers(ByteView extensions) {
  std::vector<std::string> muxers;
  protobuf::Reader reader(extensions);
  while (true) {
    TRY_ASSIGN(auto const field, reader.next());
    if (!field) return muxers;
    if (!field->is(field_stream_muxers, WireType::bytes)) continue;
    if (muxers.size() == limits::noise_muxers_max ||
        field->bytes.size() > limits::noise_muxer_name_max)
      return std::vector<std::string>{};
    muxers.emplace_back(as_text(field->bytes));
  }
}

Bytes signed_text(StaticKey const& static_key) {
  Bytes text;
  append(text, as_bytes("noise-libp2p-static-key:"));
  append(text, static_key);
  return text;
}

}  // namespace

Bytes make_payload(Identity const& identity, StaticKey const& static_key,
                   std::vector<std::string> const& muxers) {
  protobuf::Writer writer;
  writer.bytes(field_identity_key, identity.public_key().protobuf());
  writer.bytes(field_identity_signature, identity.sign(signed_text(static_key)));
  if (!muxers.empty()) {
    protobuf::Writer extensions;
    for (auto const& muxer : muxers) extensions.string(field_stream_muxers, muxer);
    writer.bytes(field_extensions, extensions.view());
  }
  return writer.take();
}

Result<Remote> verify_payload(ByteView bytes, StaticKey const& remote_static) {
  TRY_ASSIGN(auto const payload, decode(bytes));
  TRY_ASSIGN(auto const key, PublicKey::from_protobuf(payload.identity_key));
  if (!key.verifies(signed_text(remote_static), payload.identity_signature))
    return fail(Errc::bad_signature, "noise identity signature");
  TRY_ASSIGN(auto muxers, decode_muxers(payload.extensions));
  return Remote{key, PeerId::from_ed25519(key.raw()), std::move(muxers)};
}

std::optional<std::string> choose_muxer(std::vector<std::string> const& initiator,
                                        std::vector<std::string> const& responder) {
  for (auto const& muxer : initiator)
    if (std::find(responder.begin(), responder.end(), muxer) != responder.end()) return muxer;
  return std::nullopt;
}

}  // namespace grapevine::noise
