// Any bytes as libp2p key protobufs. What is taken is canonical.
#include "grapevine/base/assert.hpp"
#include "grapevine/crypto/identity.hpp"

#include <algorithm>

using namespace grapevine;

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  ByteView const bytes(data, size);
  if (auto const key = PublicKey::from_protobuf(bytes))
    ASSERT(std::ranges::equal(key->protobuf(), bytes));
  if (auto const identity = Identity::from_protobuf(bytes)) {
    auto const again = Identity::from_protobuf(identity->protobuf()).value();
    ASSERT(again.public_key() == identity->public_key());
    ASSERT(identity->public_key().verifies(bytes, identity->sign(bytes)));
  }
  return 0;
}
