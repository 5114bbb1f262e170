// Any bytes as a binary multiaddr and as its text. An address prints as it parses.
#include "grapevine/base/assert.hpp"
#include "grapevine/wire/multiaddr.hpp"

using namespace grapevine;

namespace {

void check(Multiaddr const& address) {
  ASSERT(Multiaddr::parse(address.text()).value() == address);
  ASSERT(Multiaddr::from_bytes(address.bytes()).value() == address);
  auto const peer = address.peer();
  if (peer.has_value()) ASSERT(address.with_peer(*peer) == address);
  (void)address.is_circuit();
  (void)address.tcp_endpoint();
  (void)address.tcp_name();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  ByteView const bytes(data, size);
  if (auto const address = Multiaddr::from_bytes(bytes)) check(*address);
  if (auto const address = Multiaddr::parse(as_text(bytes))) check(*address);
  return 0;
}
