// Any bytes as a state descriptor. What decodes encodes to the same value.
#include "grapevine/base/assert.hpp"
#include "grapevine/wire/messages.hpp"

using namespace grapevine;

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  if (auto const state = decode_state(ByteView(data, size)))
    ASSERT(decode_state(encode(*state)).value() == *state);
  return 0;
}
