// RateCap: so many bytes a second and no more. Bytes are booked before they pass and pass one
// booking after another: of bookings b1, b2, … made at t1 ≤ t2 ≤ …,
//   begin(k) = max(t(k), end(k-1)),   end(k) = begin(k) + b(k) / rate,
// so that in any span of time at most rate times its length passes, and one booking more. A plain
// value with no clock of its own. Owned by whatever it limits.
#pragma once

#include "grapevine/base/assert.hpp"
#include "grapevine/base/time.hpp"

#include <algorithm>

namespace grapevine {

class RateCap {
 public:
  explicit RateCap(std::uint64_t bytes_per_s) : bytes_per_s_(static_cast<double>(bytes_per_s)) {
    ASSERT(bytes_per_s > 0);
  }

  // From when on these bytes may pass, until time_of(bytes) later.
  Instant book(std::uint64_t bytes, Instant now) {
    Instant const begin = std::max(now, end_);
    end_ = begin + time_of(bytes);
    return begin;
  }
  // How long what is booked still takes.
  [[nodiscard]] Duration backlog(Instant now) const {
    return std::max(Duration::zero(), end_ - now);
  }
  [[nodiscard]] Duration time_of(std::uint64_t bytes) const {
    return from_seconds(static_cast<double>(bytes) / bytes_per_s_);
  }
  // What passes in that time.
  [[nodiscard]] std::uint64_t bytes_in(Duration time) const {
    return static_cast<std::uint64_t>(to_seconds(time) * bytes_per_s_);
  }
  [[nodiscard]] double bytes_per_s() const { return bytes_per_s_; }

 private:
  double bytes_per_s_;
  Instant end_{};
};

}  // namespace grapevine
