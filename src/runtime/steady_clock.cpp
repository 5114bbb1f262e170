#include "grapevine/runtime/steady_clock.hpp"

#include "grapevine/runtime/cancellation.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace grapevine {

namespace asio = boost::asio;

Instant SteadyClock::now() const {
  return Instant(std::chrono::steady_clock::now().time_since_epoch());
}

std::uint64_t SteadyClock::unix_ns() const {
  auto const since_epoch = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(since_epoch).count());
}

Awaitable<> SteadyClock::sleep_until(Instant due) {
  if (due <= now()) co_return;
  asio::steady_timer timer(co_await asio::this_coro::executor,
                           std::chrono::steady_clock::time_point(due.time_since_epoch()));
  auto const [error] = co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
  if (error) throw_cancelled();
}

}  // namespace grapevine
