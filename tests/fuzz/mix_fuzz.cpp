// Any signed payload as a mix offer and as a mix answer. What verifies can be signed and sent on.
#include "fuzz/payload.hpp"
#include "grapevine/wire/messages.hpp"

using namespace grapevine;

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  auto const offer = verify_mix_offer(signed_payload("mix-offer", data, size), fuzz_run);
  if (offer.has_value()) {
    auto const again = verify_mix_offer(sign_mix_offer(**offer, fuzz_identity()), fuzz_run);
    ASSERT(again.has_value() && **again == **offer);
  }
  auto const answer = verify_mix_answer(signed_payload("mix-answer", data, size), fuzz_run);
  if (answer.has_value()) {
    auto const again = verify_mix_answer(sign_mix_answer(**answer, fuzz_identity()), fuzz_run);
    ASSERT(again.has_value() && **again == **answer);
  }
  return 0;
}
