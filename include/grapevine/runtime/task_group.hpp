// TaskGroup: the only way to start a concurrent task. The group's owner outlives its tasks: it
// cancels and joins before it is destroyed (destroying a non-empty group aborts). Loop thread only.
// An exception that is not a cancellation is our bug: it is logged and aborts.
#pragma once

#include "grapevine/base/result.hpp"
#include "grapevine/runtime/clock.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <memory>

namespace grapevine {

using Executor = boost::asio::any_io_executor;

class TaskGroup {
 public:
  explicit TaskGroup(Executor executor);
  ~TaskGroup();
  TaskGroup(TaskGroup const&) = delete;
  TaskGroup& operator=(TaskGroup const&) = delete;

  void spawn(Awaitable<> task);
  void cancel();       // asks every task to end; tasks spawned later run normally
  Awaitable<> join();  // returns when the group is empty; not cancellable
  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] Executor executor() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// `operation` or Errc::timed_out when `deadline` comes first (the operation is cancelled and
// awaited).
template <class T>
Awaitable<Result<T>> with_deadline(Clock& clock, Instant deadline, Awaitable<Result<T>> operation);

}  // namespace grapevine
