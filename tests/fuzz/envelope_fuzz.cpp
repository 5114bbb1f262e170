// Any bytes as a signed envelope. What opens is in the only encoding there is of it.
#include "grapevine/base/assert.hpp"
#include "grapevine/base/limits.hpp"
#include "grapevine/wire/signed.hpp"

using namespace grapevine;

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  auto const opened = open_envelope("beacon", ByteView(data, size), limits::signed_message_max);
  if (!opened.has_value()) return 0;
  ASSERT(opened->payload.size() < size);
  ASSERT(opened->signer == PeerId::from_ed25519(opened->key.raw()));
  return 0;
}
