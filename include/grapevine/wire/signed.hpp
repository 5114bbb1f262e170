// Signed messages: an envelope (schemas/envelope.fbs) around the exact bytes that were signed.
// Signature input: "grapevine:" ‖ domain ‖ 0x00 ‖ payload. The order of work on hostile bytes is
// size, FlatBuffers verifier (depth and table limits), signer policy, signature; only then is the
// payload read. Verified<T> can be made by verify functions alone: holding one is the proof.
#pragma once

#include "grapevine/base/bytes.hpp"
#include "grapevine/crypto/identity.hpp"
#include "grapevine/wire/peer_id.hpp"

#include <string_view>

namespace grapevine {

template <class T>
class Verified {
 public:
  [[nodiscard]] T const& operator*() const { return value_; }
  [[nodiscard]] T const* operator->() const { return &value_; }
  [[nodiscard]] PeerId const& signer() const { return signer_; }

 private:
  Verified(T value, PeerId signer) : value_(std::move(value)), signer_(std::move(signer)) {}
  T value_;
  PeerId signer_;
  friend struct VerifiedMaker;
};

// Wraps `payload`; `domain` is one of the message kinds ("beacon", "announcement", …).
[[nodiscard]] Bytes sign_envelope(std::string_view domain, ByteView payload,
                                  Identity const& signer);

struct OpenedEnvelope {
  Bytes payload;  // aligned copy, ready for a FlatBuffers verifier
  PublicKey key;
  PeerId signer;
};
// `author`, where given, has signed these very bytes in another way that the caller has checked (as
// the whole of a gossip message): a signature of the same key inside would prove nothing more, and
// is not looked at. One of any other signer is.
// Errc::oversize, Errc::malformed, Errc::bad_key, Errc::bad_signature.
[[nodiscard]] Result<OpenedEnvelope> open_envelope(std::string_view domain, ByteView envelope,
                                                   std::size_t bytes_max,
                                                   PeerId const* author = nullptr);

}  // namespace grapevine
