// Any bytes as a binary peer id and as its text. An id prints as it parses.
#include "grapevine/base/assert.hpp"
#include "grapevine/wire/peer_id.hpp"

using namespace grapevine;

namespace {

void check(PeerId const& id) {
  ASSERT(PeerId::parse(id.text()).value() == id);
  ASSERT(PeerId::parse(id.cid()).value() == id);
  ASSERT(PeerId::from_bytes(id.bytes()).value() == id);
  if (auto const key = id.ed25519()) ASSERT(PeerId::from_ed25519(*key) == id);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  ByteView const bytes(data, size);
  if (auto const id = PeerId::from_bytes(bytes)) check(*id);
  if (auto const id = PeerId::parse(as_text(bytes))) check(*id);
  return 0;
}
