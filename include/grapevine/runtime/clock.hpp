// Clock: the door through which time enters. `now()` is monotonic; the real clock sleeps on a
// timer, the simulated one jumps. Loop thread only, except now(), which any thread may call.
#pragma once

#include "grapevine/base/time.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <functional>
#include <memory>

namespace grapevine {

template <class T = void>
using Awaitable = boost::asio::awaitable<T>;

using Executor = boost::asio::any_io_executor;

// A call that is still to come; destroyed before, it never comes.
class Alarm {
 public:
  Alarm() = default;
  Alarm(Alarm const&) = delete;
  virtual ~Alarm() = default;
};

class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual Instant now() const = 0;
  // Nanoseconds since the Unix epoch. For display, log lines and the first sequence number of a
  // process; never decides whether something is valid.
  [[nodiscard]] virtual std::uint64_t unix_ns() const = 0;
  virtual Awaitable<> sleep_until(Instant due) = 0;
  Awaitable<> sleep_for(Duration d) { return sleep_until(now() + d); }
  // Calls `ring` at `due`, on the loop of `executor` and never inside this call. For a deadline
  // that is hardly ever reached: a sleep that is cancelled costs an exception in each of its
  // frames.
  [[nodiscard]] virtual std::unique_ptr<Alarm> alarm(Executor const& executor, Instant due,
                                                     std::function<void()> ring) = 0;
};

}  // namespace grapevine
