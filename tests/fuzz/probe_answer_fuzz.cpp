// Any bytes as the answer to a probe batch. What decodes encodes to the same value, is as far from
// itself as nothing, and from another answer at most one bit.
#include "grapevine/base/assert.hpp"
#include "grapevine/mix/js_distance.hpp"
#include "grapevine/wire/messages.hpp"

#include <cmath>

using namespace grapevine;

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  auto const answer = decode_probe_answer(ByteView(data, size));
  if (!answer) return 0;
  ASSERT(decode_probe_answer(encode(*answer)).value() == *answer);
  ASSERT(js_distance(*answer, *answer).value() == 0);
  ProbeAnswer undecided;
  undecided.vocab = answer->vocab;
  std::vector<float> const even(answer->vocab, -std::log(static_cast<float>(answer->vocab)));
  ASSERT(append_row(undecided, even).has_value());
  for (std::size_t row = 1; row < answer->rows(); ++row) {
    auto const add = [](auto& to, std::size_t count) {
      for (std::size_t i = 0; i < count; ++i) to.push_back(to[i]);
    };
    add(undecided.tokens, undecided.listed());
    add(undecided.log_probabilities, undecided.listed());
    add(undecided.rest, 1);
  }
  double const distance = js_distance(*answer, undecided).value();
  ASSERT(distance >= 0 && distance <= 1);
  ASSERT(distance == js_distance(undecided, *answer).value());
  return 0;
}
