// Clock: the door through which time enters. `now()` is monotonic; the real clock sleeps on a
// timer, the simulated one jumps. Loop thread only, except now(), which any thread may call.
#pragma once

#include "grapevine/base/time.hpp"

#include <boost/asio/awaitable.hpp>

namespace grapevine {

template <class T = void>
using Awaitable = boost::asio::awaitable<T>;

class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual Instant now() const = 0;
  // Nanoseconds since the Unix epoch. For display, log lines and the first sequence number of a
  // process; never decides whether something is valid.
  [[nodiscard]] virtual std::uint64_t unix_ns() const = 0;
  virtual Awaitable<> sleep_until(Instant due) = 0;
  Awaitable<> sleep_for(Duration d) { return sleep_until(now() + d); }
};

}  // namespace grapevine
