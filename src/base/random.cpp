#include "grapevine/base/random.hpp"

#include "grapevine/base/assert.hpp"

namespace grapevine {

std::uint64_t Random::next() {
  std::array<std::uint8_t, 8> bytes{};
  fill(bytes);
  return read_be<std::uint64_t>(bytes);
}

std::uint64_t Random::below(std::uint64_t bound) {
  ASSERT(bound > 0);
  // Rejects the few values that would make the remainder uneven.
  std::uint64_t const uneven = (0 - bound) % bound;
  std::uint64_t value = next();
  while (value < uneven) value = next();
  return value % bound;
}

double Random::unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

void SeededRandom::fill(MutableByteView out) {
  for (std::size_t i = 0; i < out.size(); i += 8) {
    state_ += 0x9e3779b97f4a7c15ULL;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    z ^= z >> 31;
    for (std::size_t j = 0; j < 8 && i + j < out.size(); ++j)
      out[i + j] = static_cast<std::uint8_t>(z >> (56 - 8 * j));
  }
}

}  // namespace grapevine
