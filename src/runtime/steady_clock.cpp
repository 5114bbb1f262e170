#include "grapevine/runtime/steady_clock.hpp"

#include "grapevine/runtime/cancellation.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace grapevine {

namespace asio = boost::asio;

namespace {

std::chrono::steady_clock::time_point on_steady_clock(Instant due) {
  return std::chrono::steady_clock::time_point(due.time_since_epoch());
}

class TimerAlarm final : public Alarm {
 public:
  TimerAlarm(Executor const& executor, Instant due, std::function<void()> ring)
      : timer_(executor, on_steady_clock(due)),
        ring_(std::make_shared<std::function<void()>>(std::move(ring))) {
    // Too late to be cancelled it may still be on its way when this is gone.
    timer_.async_wait([weak = std::weak_ptr(ring_)](boost::system::error_code) {
      if (auto const call = weak.lock()) (*call)();
    });
  }

 private:
  asio::steady_timer timer_;
  std::shared_ptr<std::function<void()>> ring_;
};

}  // namespace

Instant SteadyClock::now() const {
  return Instant(std::chrono::steady_clock::now().time_since_epoch());
}

std::uint64_t SteadyClock::unix_ns() const {
  auto const since_epoch = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(since_epoch).count());
}

Awaitable<> SteadyClock::sleep_until(Instant due) {
  if (due <= now()) co_return;
  asio::steady_timer timer(co_await asio::this_coro::executor, on_steady_clock(due));
  auto const [error] = co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
  if (error) throw_cancelled();
}

std::unique_ptr<Alarm> SteadyClock::alarm(Executor const& executor, Instant due,
                                          std::function<void()> ring) {
  return std::make_unique<TimerAlarm>(executor, due, std::move(ring));
}

}  // namespace grapevine
