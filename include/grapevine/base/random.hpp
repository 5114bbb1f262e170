// Random: one of the five doors. The real one reads the operating system; the simulated one is a
// seeded generator, so that a run can be repeated. `std::*_distribution` and `std::shuffle` are
// banned (their algorithms are unspecified): use these.
#pragma once

#include "grapevine/base/bytes.hpp"

#include <cstdint>
#include <span>
#include <utility>

namespace grapevine {

class Random {
 public:
  virtual ~Random() = default;
  virtual void fill(MutableByteView out) = 0;

  [[nodiscard]] std::uint64_t next();
  [[nodiscard]] std::uint64_t below(std::uint64_t bound);  // uniform in [0, bound); bound > 0
  [[nodiscard]] double unit();                             // uniform in [0, 1)
  template <class T>
  void shuffle(std::span<T> items) {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(i)]);
  }
};

// splitmix64 stepping a 64-bit state: small, fast, reproducible, not for secrets.
class SeededRandom final : public Random {
 public:
  explicit SeededRandom(std::uint64_t seed) : state_(seed) {}
  void fill(MutableByteView out) override;

 private:
  std::uint64_t state_;
};

}  // namespace grapevine
