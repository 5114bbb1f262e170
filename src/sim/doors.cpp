#include "grapevine/base/limits.hpp"
#include "grapevine/runtime/cancellation.hpp"
#include "sim/doors_detail.hpp"

namespace grapevine::sim {
namespace {

constexpr std::uint64_t unix_ns_at_start = 1'767'225'600'000'000'000;  // 2026-01-01
constexpr Instant start_of_the_world{std::chrono::seconds(1000)};
constexpr std::int64_t million = 1'000'000;

class SimAlarm final : public Alarm {
 public:
  SimAlarm(Machine& machine, Instant due, std::function<void()> ring)
      : scheduler_(machine.scheduler()) {
    auto event = [&machine, call = std::move(ring)] {
      machine.note("wake");
      call();
    };
    id_ = scheduler_.at(due, std::move(event));
  }
  ~SimAlarm() override { scheduler_.forget(id_); }

 private:
  Scheduler& scheduler_;
  Scheduler::EventId id_;
};

struct Flag {
  explicit Flag(bool& raised) : flag(raised) { flag = true; }
  Flag(Flag const&) = delete;
  ~Flag() { flag = false; }
  bool& flag;
};

struct Count {
  explicit Count(std::size_t& counted) : counter(counted) { ++counter; }
  Count(Count const&) = delete;
  ~Count() { --counter; }
  std::size_t& counter;
};

struct NotifyAtEnd {
  Gate& gate;
  ~NotifyAtEnd() { gate.notify_all(); }
};

}  // namespace

// Whole numbers, so that it is the same on every machine; a day of 10 % drift still fits.
Instant SimClock::now() const {
  auto const passed = machine_.scheduler().now() - start_of_the_world;
  return start_of_the_world + passed + passed / million * options_.clock_fast_ppm;
}

// The first millisecond at which the clock shows at least that.
Instant SimClock::true_time(Instant shown) const {
  if (options_.clock_fast_ppm == 0) return shown;
  auto const step = Duration(million + options_.clock_fast_ppm);
  auto const steps = (shown - start_of_the_world + step - Duration(1)) / step;
  return start_of_the_world + Duration(million) * steps;
}

std::uint64_t SimClock::unix_ns() const {
  auto const since_start = now() - start_of_the_world + options_.wall_offset;
  return unix_ns_at_start + static_cast<std::uint64_t>(since_start.count());
}

Awaitable<> SimClock::sleep_until(Instant due) {
  if (machine_.off) throw_cancelled();
  if (due <= now()) co_return;
  bool rung = false;
  Gate changed;
  auto ring = [&rung, &changed] {
    rung = true;
    changed.notify_all();
  };
  SimAlarm const alarm(machine_, true_time(due), std::move(ring));
  while (!rung) co_await changed.wait();
}

std::unique_ptr<Alarm> SimClock::alarm(Executor const& /*executor*/, Instant due,
                                       std::function<void()> ring) {
  return std::make_unique<SimAlarm>(machine_, true_time(due), std::move(ring));
}

Duration SimWorker::draw_cost() {
  auto const spread = static_cast<std::uint64_t>((cost_.max - cost_.min).count());
  return cost_.min + Duration(static_cast<Duration::rep>(random_.below(spread + 1)));
}

Awaitable<> SimWorker::run(Job job) {
  while (jobs_ >= limits::worker_jobs_max) co_await changed_.wait();
  NotifyAtEnd const notify{changed_};
  Count const count(jobs_);
  while (busy_) co_await changed_.wait();
  if (machine_.off) throw_cancelled();
  Flag const flag(busy_);
  std::stop_source stop;
  try {
    co_await clock_.sleep_for(draw_cost());
  } catch (...) {
    if (machine_.off) throw;
    stop.request_stop();
  }
  machine_.note("job");
  job(stop.get_token());
}

}  // namespace grapevine::sim
