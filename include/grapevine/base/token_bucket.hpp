// TokenBucket: an average rate with a burst. A plain value with no clock of its own; the caller
// passes the time, which never runs backwards. Owned by whatever it limits.
#pragma once

#include "grapevine/base/time.hpp"

#include <algorithm>

namespace grapevine {

class TokenBucket {
 public:
  TokenBucket(double per_s, double burst, Instant now)
      : per_s_(per_s), burst_(burst), tokens_(burst), last_(now) {}

  // Whether take() would be allowed now.
  [[nodiscard]] bool allows(Instant now) const { return tokens_at(now) >= 1; }
  // True when one more is allowed now.
  [[nodiscard]] bool take(Instant now) {
    tokens_ = tokens_at(now);
    last_ = now;
    if (tokens_ < 1) return false;
    tokens_ -= 1;
    return true;
  }
  // The one taken turned out to be harmless.
  void give_back() { tokens_ = std::min(burst_, tokens_ + 1); }
  // Nothing taken lately: forgetting it now changes nothing.
  [[nodiscard]] bool full(Instant now) const { return tokens_at(now) >= burst_; }

 private:
  [[nodiscard]] double tokens_at(Instant now) const {
    return std::min(burst_, tokens_ + per_s_ * to_seconds(now - last_));
  }

  double per_s_;
  double burst_;
  double tokens_;
  Instant last_;
};

}  // namespace grapevine
