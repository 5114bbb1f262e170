#include "grapevine/wire/peer_record.hpp"

#include "grapevine/base/limits.hpp"
#include "grapevine/wire/framing.hpp"
#include "grapevine/wire/protobuf.hpp"

#include <algorithm>

namespace grapevine {
namespace {

using protobuf::WireType;

struct Form {
  std::string_view domain;
  std::string_view payload_type;
};
constexpr Form usual = {"libp2p-peer-record", "\x03\x01"};
constexpr Form legacy = {"libp2p-routing-state", "/libp2p/routing-state-record"};

enum EnvelopeField : std::uint32_t { public_key = 1, payload_type = 2, payload = 3, signature = 5 };
enum RecordField : std::uint32_t { peer_id = 1, sequence = 2, address_info = 3 };
constexpr std::uint32_t multiaddr_field = 1;

struct Envelope {  // points into the message
  ByteView key;
  ByteView type;
  ByteView payload;
  ByteView signature;
};

Bytes signed_bytes(Form const& form, ByteView body) {
  Bytes bytes;
  append_frame(bytes, as_bytes(form.domain));
  append_frame(bytes, as_bytes(form.payload_type));
  append_frame(bytes, body);
  return bytes;
}

Result<Envelope> parse_envelope(ByteView message) {
  protobuf::Reader reader(message);
  Envelope envelope;
  for (;;) {
    TRY_ASSIGN(auto const field, reader.next());
    if (!field.has_value()) return envelope;
    if (field->is(public_key, WireType::bytes)) envelope.key = field->bytes;
    if (field->is(payload_type, WireType::bytes)) envelope.type = field->bytes;
    if (field->is(payload, WireType::bytes)) envelope.payload = field->bytes;
    if (field->is(signature, WireType::bytes)) envelope.signature = field->bytes;
  }
}

Result<Form> form_of(ByteView type) {
  for (auto const& form : {usual, legacy})
    if (as_text(type) == form.payload_type) return form;
  return fail(Errc::unsupported, "envelope of another kind than a peer record");
}

// An address nobody here can use is no reason to lose the others.
Result<> parse_address(PeerRecord& record, ByteView info) {
  protobuf::Reader reader(info);
  for (;;) {
    TRY_ASSIGN(auto const field, reader.next());
    if (!field.has_value()) return {};
    if (!field->is(multiaddr_field, WireType::bytes)) continue;
    if (record.addresses.size() == limits::peer_record_addresses_max) continue;
    if (auto address = Multiaddr::from_bytes(field->bytes))
      record.addresses.push_back(*std::move(address));
  }
}

Result<PeerRecord> parse_record(ByteView body) {
  protobuf::Reader reader(body);
  PeerRecord record;
  for (;;) {
    TRY_ASSIGN(auto const field, reader.next());
    if (!field.has_value()) return record;
    if (field->is(sequence, WireType::varint)) record.sequence = field->value;
    if (field->is(address_info, WireType::bytes)) {
      TRY(parse_address(record, field->bytes));
    }
    if (field->is(peer_id, WireType::bytes)) {
      TRY_ASSIGN(record.peer, PeerId::from_bytes(field->bytes));
    }
  }
}

}  // namespace

Bytes sign_peer_record(std::uint64_t sequence_number, std::span<Multiaddr const> addresses,
                       Identity const& signer) {
  protobuf::Writer record;
  record.bytes(peer_id, PeerId::from_ed25519(signer.public_key().raw()).bytes());
  record.varint(sequence, sequence_number);
  auto const used = std::min(addresses.size(), limits::peer_record_addresses_max);
  for (auto const& address : addresses.first(used)) {
    protobuf::Writer info;
    info.bytes(multiaddr_field, address.bytes());
    record.bytes(address_info, info.view());
  }
  protobuf::Writer envelope;
  envelope.bytes(public_key, signer.public_key().protobuf());
  envelope.string(payload_type, usual.payload_type);
  envelope.bytes(payload, record.view());
  envelope.bytes(signature, signer.sign(signed_bytes(usual, record.view())));
  return envelope.take();
}

Result<PeerRecord> verify_peer_record(ByteView message) {
  if (message.size() > limits::peer_record_bytes_max)
    return fail(Errc::oversize, "peer record of " + std::to_string(message.size()) + " bytes");
  TRY_ASSIGN(auto const envelope, parse_envelope(message));
  TRY_ASSIGN(auto const form, form_of(envelope.type));
  TRY_ASSIGN(auto const key, PublicKey::from_protobuf(envelope.key));
  auto const signer = PeerId::from_ed25519(key.raw());
  if (!key.verifies(signed_bytes(form, envelope.payload), envelope.signature))
    return fail(Errc::bad_signature, "peer record that claims to be by " + signer.text());
  TRY_ASSIGN(auto record, parse_record(envelope.payload));
  if (record.peer != signer)
    return fail(Errc::wrong_peer,
                "peer record of " + record.peer.text() + " signed by " + signer.text());
  return record;
}

}  // namespace grapevine
