// VirtualTime: what is to happen, in the order in which it is due; equal instants in the order in
// which they were asked for. Time jumps from one to the next. For swarms of pure machines, which
// need no simulated world with its doors. One thread.
#pragma once

#include "grapevine/base/time.hpp"

#include <functional>
#include <memory>
#include <queue>
#include <tuple>
#include <vector>

namespace grapevine::sim {

class VirtualTime {
 public:
  [[nodiscard]] Instant now() const { return now_; }
  void at(Instant due, std::function<void()> what) {
    queue_.push({due, order_++, std::make_shared<std::function<void()>>(std::move(what))});
  }
  void later(Duration d, std::function<void()> what) { at(now_ + d, std::move(what)); }
  // Until nothing is left to happen or `until`; false when the time ran out first.
  bool run(Duration until, std::function<bool()> const& done) {
    Instant const end = now_ + until;
    while (!queue_.empty() && !done()) {
      auto const next = queue_.top();
      if (next.due > end) return false;
      queue_.pop();
      now_ = next.due;
      (*next.what)();
    }
    return done();
  }

 private:
  struct Due {
    Instant due;
    std::uint64_t order;
    std::shared_ptr<std::function<void()>> what;
    bool operator<(Due const& other) const {
      return std::tie(due, order) > std::tie(other.due, other.order);
    }
  };
  std::priority_queue<Due> queue_;
  std::uint64_t order_ = 0;
  Instant now_{};
};

}  // namespace grapevine::sim
