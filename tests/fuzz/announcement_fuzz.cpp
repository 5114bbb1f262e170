// Any signed payload as an announcement. What verifies can be signed and sent on.
#include "fuzz/payload.hpp"
#include "grapevine/wire/messages.hpp"

using namespace grapevine;

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  auto const one = verify_announcement(signed_payload("announcement", data, size), fuzz_run);
  if (!one.has_value()) return 0;
  auto const again = verify_announcement(sign_announcement(**one, fuzz_identity()), fuzz_run);
  ASSERT(again.has_value() && **again == **one);
  return 0;
}
