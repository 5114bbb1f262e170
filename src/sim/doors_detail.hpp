// The simulated Clock and Worker of one node. Both belong to one incarnation of it and fall silent
// when its machine is off.
#pragma once

#include "grapevine/runtime/gate.hpp"
#include "grapevine/runtime/worker.hpp"
#include "grapevine/sim/world.hpp"
#include "sim/scheduler_detail.hpp"

namespace grapevine::sim {

class SimClock final : public Clock {
 public:
  // `options` may change while the clock runs.
  SimClock(Machine& machine, NodeOptions const& options) : machine_(machine), options_(options) {}
  [[nodiscard]] Instant now() const override;
  [[nodiscard]] std::uint64_t unix_ns() const override;
  Awaitable<> sleep_until(Instant due) override;
  [[nodiscard]] std::unique_ptr<Alarm> alarm(Executor const& executor, Instant due,
                                             std::function<void()> ring) override;

 private:
  [[nodiscard]] Instant true_time(Instant shown) const;

  Machine& machine_;
  NodeOptions const& options_;
};

// One job after the other. A job runs inline, whole, at the virtual time it would end at; a running
// one that is cancelled runs then, with the stop asked for.
class SimWorker final : public Worker {
 public:
  SimWorker(Machine& machine, Clock& clock, WorkCost cost, std::uint64_t seed)
      : machine_(machine), clock_(clock), cost_(cost), random_(seed) {}
  Awaitable<> run(Job job) override;
  [[nodiscard]] std::size_t queued() const override { return jobs_; }

 private:
  Duration draw_cost();

  Machine& machine_;
  Clock& clock_;
  WorkCost cost_;
  SeededRandom random_;
  std::size_t jobs_ = 0;
  bool busy_ = false;
  Gate changed_;
};

}  // namespace grapevine::sim
