// SteadyClock: the real Clock, the system's monotonic one. Sleeps are timers on the loop.
#pragma once

#include "grapevine/runtime/clock.hpp"

namespace grapevine {

class SteadyClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override;
  [[nodiscard]] std::uint64_t unix_ns() const override;
  Awaitable<> sleep_until(Instant due) override;
  [[nodiscard]] std::unique_ptr<Alarm> alarm(Executor const& executor, Instant due,
                                             std::function<void()> ring) override;
};

}  // namespace grapevine
