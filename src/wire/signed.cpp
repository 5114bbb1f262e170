#include "grapevine/wire/signed.hpp"

#include "flat_detail.hpp"
#include "grapevine_schemas/envelope_generated.h"

#include <algorithm>

namespace grapevine {
namespace {

Bytes signed_bytes(std::string_view domain, ByteView payload) {
  Bytes bytes;
  bytes.reserve(payload.size() + 64);
  append(bytes, as_bytes("grapevine:"));
  append(bytes, as_bytes(domain));
  bytes.push_back(0);
  append(bytes, payload);
  return bytes;
}

Bytes encode_envelope(schema::Key const& key, schema::Signature const& signature,
                      ByteView payload) {
  flat::Builder builder(payload.size() + 256);
  auto const body = flat::from(builder, payload);
  schema::EnvelopeBuilder envelope(builder);
  envelope.add_payload(body);
  envelope.add_signature(&signature);
  envelope.add_key(&key);
  return flat::finish(builder, envelope.Finish(), schema::EnvelopeIdentifier());
}

}  // namespace

Bytes sign_envelope(std::string_view domain, ByteView payload, Identity const& signer) {
  auto const signature = signer.sign(signed_bytes(domain, payload));
  auto const& key = signer.public_key().raw();
  return encode_envelope(schema::Key(flatbuffers::span<std::uint8_t const, 32>(key)),
                         schema::Signature(flatbuffers::span<std::uint8_t const, 64>(signature)),
                         payload);
}

Result<OpenedEnvelope> open_envelope(std::string_view domain, ByteView envelope,
                                     std::size_t bytes_max, PeerId const* author) {
  TRY_ASSIGN(auto const aligned, flat::aligned_copy(envelope, bytes_max));
  TRY_ASSIGN(auto const* const root,
             flat::verified_root<schema::Envelope>(aligned, schema::EnvelopeIdentifier()));
  auto const payload = flat::view(*root->payload());
  if (encode_envelope(*root->key(), *root->signature(), payload) != aligned)
    return fail(Errc::malformed, "envelope in another than its canonical encoding");
  auto const raw_key = ByteView(root->key()->bytes()->data(), 32);
  auto const signature = ByteView(root->signature()->bytes()->data(), 64);
  TRY_ASSIGN(auto const key, PublicKey::from_raw(raw_key));
  auto const signer = PeerId::from_ed25519(key.raw());
  bool const vouched_for = author != nullptr && *author == signer;
  if (!vouched_for && !key.verifies(signed_bytes(domain, payload), signature))
    return fail(Errc::bad_signature,
                std::string(domain) + " that claims to be by " + signer.text());
  return OpenedEnvelope{Bytes(payload.begin(), payload.end()), key, signer};
}

}  // namespace grapevine
