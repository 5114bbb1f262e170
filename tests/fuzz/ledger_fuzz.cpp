// Any signed payload as a ledger entry. What verifies can be signed and kept.
#include "fuzz/payload.hpp"
#include "grapevine/wire/messages.hpp"

using namespace grapevine;

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  auto const entry = verify_ledger_entry(signed_payload("ledger", data, size));
  if (!entry.has_value()) return 0;
  auto const again = verify_ledger_entry(sign_ledger_entry(**entry, fuzz_identity()));
  ASSERT(again.has_value() && **again == **entry);
  return 0;
}
