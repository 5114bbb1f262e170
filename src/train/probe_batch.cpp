#include "grapevine/train/probe_batch.hpp"

#include "grapevine/base/assert.hpp"
#include "grapevine/base/limits.hpp"
#include "grapevine/base/random.hpp"

#include <string_view>

namespace grapevine {
namespace {

constexpr std::uint32_t byte_vocabulary = 256;

// A change here is a new protocol version: peers would compare answers to other questions.
constexpr std::string_view text =
    "The first frost came early that year, and the vines below the road turned red within a week. "
    "\"We should have picked on Monday,\" said the old man, counting the baskets twice. Nobody "
    "answered him. By noon the sun was warm again, the wasps were back at the presses, and 340 "
    "litres stood in the cellar. How much of it would be good? His daughter held a glass against "
    "the window. It was cloudy, as new wine is, but it smelled of pears and of rain on stone. "
    "\"Wait until spring,\" she said; then she washed the glass, hung it on its nail by the door, "
    "and went out to help the others carry the ladders home.\n";

}  // namespace

std::vector<std::uint32_t> probe_batch(std::uint64_t run_seed, std::uint32_t vocab) {
  ASSERT(vocab > 0);
  SeededRandom random(run_seed);
  std::vector<std::uint32_t> tokens(limits::probe_tokens_max);
  if (vocab == byte_vocabulary) {
    auto at = random.below(text.size());
    for (auto& token : tokens) token = static_cast<std::uint8_t>(text[at++ % text.size()]);
  } else {
    for (auto& token : tokens) token = static_cast<std::uint32_t>(random.below(vocab));
  }
  return tokens;
}

}  // namespace grapevine
