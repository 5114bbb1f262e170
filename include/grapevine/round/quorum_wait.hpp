// QuorumWait: how long what is on its way is worth waiting for, whatever the links: for the first
// half of it as long as may be, then for the rest as long again as that half has taken and a little
// more. A few that are slow, or pretend to be, gain no more than that.
#pragma once

#include "grapevine/base/time.hpp"

#include <algorithm>
#include <optional>

namespace grapevine {

class QuorumWait {
 public:
  void begin(Instant now) {
    began_ = now;
    half_at_.reset();
  }
  // So much of it is here by now. Of nothing there is no half.
  void count(std::size_t here, std::size_t total, Instant now) {
    if (!half_at_ && total > 0 && 2 * here >= total) half_at_ = now;
  }
  [[nodiscard]] Instant until(Duration longest, Duration little) const {
    if (!half_at_) return began_ + longest;
    return std::min(*half_at_ + (*half_at_ - began_) + little, began_ + longest);
  }

 private:
  Instant began_{};
  std::optional<Instant> half_at_;
};

}  // namespace grapevine
