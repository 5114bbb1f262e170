// Scheduler: virtual time, the events that are due at an instant, and the handlers that are ready
// now, which run in an order drawn from the seed. Machine: one node's share of it, with an executor
// for the node's coroutines. Single thread.
#pragma once

#include "grapevine/base/random.hpp"
#include "grapevine/runtime/task_group.hpp"
#include "grapevine/sim/trace.hpp"

#include <boost/asio/execution.hpp>
#include <boost/asio/execution_context.hpp>

#include <deque>
#include <functional>
#include <map>

namespace grapevine::sim {

class Machine;

// A ready handler; moved, never copied.
struct Ready {
  virtual ~Ready() = default;
  virtual void run() = 0;
};

class Scheduler {
 public:
  Scheduler(std::uint64_t seed, Trace& trace) : random_(seed), trace_(trace) {}

  [[nodiscard]] Instant now() const { return now_; }
  [[nodiscard]] Trace& trace() { return trace_; }

  using EventId = std::pair<Instant, std::uint64_t>;
  EventId at(Instant due, std::function<void()> event);
  void forget(EventId const& id) { events_.erase(id); }

  void add(Machine& machine, std::unique_ptr<Ready> ready);
  // Runs one ready handler; when none is left, jumps to the next event. False when there is nothing
  // at all to do up to `limit`; then it is `limit`.
  bool step(Instant limit);
  // Runs what is ready on `machine` alone, in the order it came, until nothing is.
  void drain(Machine& machine);
  [[nodiscard]] Machine* running() const { return running_; }

 private:
  struct Entry {
    Machine* machine;
    std::unique_ptr<Ready> ready;
  };
  void run(Entry entry);

  Instant now_{std::chrono::seconds(1000)};  // so that Instant{} is long ago
  SeededRandom random_;
  Trace& trace_;
  std::uint64_t sequence_ = 0;
  std::map<EventId, std::function<void()>> events_;
  std::vector<Entry> ready_;
  Machine* running_ = nullptr;
};

// The execution context of one incarnation of a node. `off` is set first thing when it is crashed:
// from then on nothing it does has an effect outside.
class Machine final : public boost::asio::execution_context {
 public:
  Machine(Scheduler& scheduler, std::uint32_t index) : scheduler_(scheduler), index_(index) {}
  ~Machine() {
    shutdown();
    destroy();
  }

  [[nodiscard]] Scheduler& scheduler() { return scheduler_; }
  [[nodiscard]] std::uint32_t index() const { return index_; }
  [[nodiscard]] Executor executor();
  void note(std::string_view kind, std::uint64_t number = 0, std::uint64_t content = 0);

  bool off = false;

 private:
  Scheduler& scheduler_;
  std::uint32_t index_;
};

// Like an io_context's: post() makes a handler ready, dispatch() from one of the machine's own
// handlers runs at once.
class ShuffleExecutor {
 public:
  explicit ShuffleExecutor(Machine& machine, bool may_block = true)
      : machine_(&machine), may_block_(may_block) {}

  using context_t = boost::asio::execution::context_t;
  using blocking_t = boost::asio::execution::blocking_t;

  boost::asio::execution_context& query(context_t) const noexcept { return *machine_; }
  blocking_t query(blocking_t) const noexcept {
    return may_block_ ? blocking_t(blocking_t::possibly) : blocking_t(blocking_t::never);
  }
  ShuffleExecutor require(blocking_t::possibly_t) const { return ShuffleExecutor(*machine_, true); }
  ShuffleExecutor require(blocking_t::never_t) const { return ShuffleExecutor(*machine_, false); }

  template <class Function>
  void execute(Function function) const {
    auto& scheduler = machine_->scheduler();
    if (may_block_ && scheduler.running() == machine_) {
      function();
      return;
    }
    struct Call final : Ready {
      explicit Call(Function&& moved) : held(std::move(moved)) {}
      void run() override { held(); }
      Function held;
    };
    scheduler.add(*machine_, std::make_unique<Call>(std::move(function)));
  }
  bool operator==(ShuffleExecutor const&) const noexcept = default;

 private:
  Machine* machine_;
  bool may_block_;
};

}  // namespace grapevine::sim
