// For fuzzing what lies behind a signature: any bytes, signed as a hostile peer would sign them.
#pragma once

#include "grapevine/base/assert.hpp"
#include "grapevine/crypto/hash.hpp"
#include "grapevine/wire/signed.hpp"

namespace grapevine {

inline Hash const fuzz_run = sha256(as_bytes("run"));  // the run that the corpora speak of

inline Identity const& fuzz_identity() {
  static Identity const identity = [] {
    SeededRandom random(1);
    return Identity::generate(random);
  }();
  return identity;
}

inline Bytes signed_payload(std::string_view domain, std::uint8_t const* data, std::size_t size) {
  return sign_envelope(domain, ByteView(data, size), fuzz_identity());
}

}  // namespace grapevine
