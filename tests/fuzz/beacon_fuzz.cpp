// Any signed payload as a beacon. What verifies can be signed and sent on.
#include "fuzz/payload.hpp"
#include "grapevine/wire/messages.hpp"

using namespace grapevine;

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  auto const beacon = verify_beacon(signed_payload("beacon", data, size), fuzz_run);
  if (!beacon.has_value()) return 0;
  auto const again = verify_beacon(sign_beacon(**beacon, fuzz_identity()), fuzz_run);
  ASSERT(again.has_value() && **again == **beacon);
  return 0;
}
