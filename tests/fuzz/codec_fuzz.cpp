// Any bytes as the encoding of a tensor, by each codec: codec and settings from the first bytes, as
// many elements as the bytes that follow may be. What decodes is finite, and encodes again.
#include "grapevine/base/assert.hpp"
#include "grapevine/kernels/codec.hpp"

#include <cmath>

using namespace grapevine;

namespace {

constexpr std::size_t elements_max = 64 * 1024;

// Elements whose encoding is `bytes` long, or the next longer.
std::size_t elements_for(CodecSettings const& settings, std::size_t bytes) {
  std::size_t low = 0, high = elements_max;
  while (low < high) {
    std::size_t const middle = (low + high) / 2;
    if (encoded_bytes(settings, middle) < bytes)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  if (size < 4) return 0;
  CodecSettings const settings{.codec = static_cast<Codec>(data[0] % 6),
                               .block = data[1] * 16U,
                               .chunk = 1 + data[2] * 16U + data[3] % 16U,
                               .kept = data[3] / 4U};
  if (!check_settings(settings)) return 0;
  ByteView const input(data + 4, size - 4);
  std::vector<float> values(elements_for(settings, input.size()), NAN);
  if (!decode(settings, input, values)) return 0;
  for (float const value : values) ASSERT(std::isfinite(value));
  Bytes again(encoded_bytes(settings, values.size()));
  ASSERT(encode(settings, values, again).has_value());
  ASSERT(decode(settings, again, values).has_value());
  return 0;
}
