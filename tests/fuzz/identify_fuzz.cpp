// Identify messages of any bytes; what was understood can be said again.
#include "grapevine/base/assert.hpp"
#include "grapevine/base/limits.hpp"
#include "grapevine/p2p/identify.hpp"

using namespace grapevine;

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  identify::Message message;
  (void)identify::merge(message, {data, size});
  ASSERT(message.protocols.size() <= limits::identify_protocols_max);
  ASSERT(message.listen.size() <= limits::identify_addresses_max);
  auto const again = identify::encode(message);
  ASSERT(again.size() <= limits::identify_sent_max);
  identify::Message read;
  ASSERT(identify::merge(read, again).has_value());
  return 0;
}
