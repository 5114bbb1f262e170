// The only way to a Verified<T>: open the envelope, then decode its payload.
#pragma once

#include "codec_detail.hpp"
#include "grapevine/base/assert.hpp"
#include "grapevine/wire/signed.hpp"

namespace grapevine {

struct VerifiedMaker {
  template <class T>
  [[nodiscard]] static Verified<T> make(T value, PeerId const& signer) {
    return Verified<T>(std::move(value), signer);
  }
};

// How a message is wrapped: the kind that its signature is bound to, and its largest size.
struct MessageKind {
  std::string_view domain;
  std::size_t bytes_max;
};

// `check(value)` holds what we send to the rules that receivers hold us to.
template <class T, class Check>
[[nodiscard]] Bytes sign_message(MessageKind kind, T const& value, Identity const& signer,
                                 Check check) {
  ASSERT(check(value).has_value());
  Bytes bytes = sign_envelope(kind.domain, codec::encode_payload(value), signer);
  ASSERT(bytes.size() <= kind.bytes_max);
  return bytes;
}

template <class T, class Decode>
[[nodiscard]] Result<Verified<T>> verify_message(MessageKind kind, ByteView bytes, Decode decode,
                                                 PeerId const* author = nullptr) {
  TRY_ASSIGN(auto const opened, open_envelope(kind.domain, bytes, kind.bytes_max, author));
  TRY_ASSIGN(T value, decode(opened.payload));
  return VerifiedMaker::make(std::move(value), opened.signer);
}

}  // namespace grapevine
