// Handshake messages and payloads of any bytes, for both roles: refused or read, never worse.
#include "grapevine/p2p/noise.hpp"

using namespace grapevine;
using noise::Handshake;
using noise::Role;

namespace {

X25519KeyPair key(std::uint8_t n) {
  std::array<std::uint8_t, 32> secret{};
  secret.fill(n);
  return X25519KeyPair::from_secret(secret);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  ByteView const bytes{data, size};
  Handshake listener(Role::responder, key(1), key(2));
  if (listener.read(bytes) && listener.write({})) (void)listener.read(bytes);
  Handshake dialer(Role::initiator, key(3), key(4));
  if (dialer.write({}) && dialer.read(bytes)) (void)dialer.write({});
  (void)noise::verify_payload(bytes, key(1).public_key);
  return 0;
}
