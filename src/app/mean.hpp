// Mean: of figures that come one after another. A value.
#pragma once

#include <cstddef>

namespace grapevine {

class Mean {
 public:
  void add(double figure) {
    sum_ += figure;
    ++count_;
  }
  [[nodiscard]] double value_or(double of_none) const {
    return count_ > 0 ? sum_ / static_cast<double>(count_) : of_none;
  }

 private:
  double sum_ = 0;
  std::size_t count_ = 0;
};

}  // namespace grapevine
