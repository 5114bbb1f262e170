// What hostile bytes look like: a valid encoding cut short at every length, with every bit flipped,
// and with several bytes changed at once.
#pragma once

#include "grapevine/base/random.hpp"

namespace grapevine {

template <class Visit>
void for_each_mutation(ByteView valid, Visit visit) {
  for (std::size_t size = 0; size < valid.size(); ++size) visit(valid.first(size));
  Bytes bytes(valid.begin(), valid.end());
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    auto const mask = static_cast<std::uint8_t>(1U << bit % 8);
    bytes[bit / 8] ^= mask;
    visit(bytes);
    bytes[bit / 8] ^= mask;
  }
  SeededRandom random(1);
  for (int round = 0; round < 2000; ++round) {
    Bytes changed = bytes;
    for (auto count = random.below(8) + 1; count > 0; --count)
      changed[random.below(changed.size())] = static_cast<std::uint8_t>(random.below(256));
    visit(changed);
  }
}

}  // namespace grapevine
