// TaskGroup: the only way to start a concurrent task. The group's owner outlives its tasks: it
// cancels and joins before it is destroyed (destroying a non-empty group aborts). Loop thread only.
// An exception that is not a cancellation is our bug: it is logged and aborts.
//
// An object that lives long keeps a group and has a stop() that cancels and joins it. A coroutine
// that needs tasks of its own, and may itself be cancelled, uses with_tasks() or first_of().
#pragma once

#include "grapevine/base/result.hpp"
#include "grapevine/runtime/clock.hpp"
#include "grapevine/runtime/gate.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace grapevine {

class TaskGroup {
 public:
  explicit TaskGroup(Executor executor);
  ~TaskGroup();
  TaskGroup(TaskGroup const&) = delete;
  TaskGroup& operator=(TaskGroup const&) = delete;

  void spawn(Awaitable<> task);
  void cancel();       // asks every task to end; tasks spawned later run normally
  Awaitable<> join();  // returns when the group is empty; a cancellation of the caller has to wait
  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] Executor executor() const;

 private:
  struct State;
  struct Ended;
  std::unique_ptr<State> state_;
};

// Runs `body` with a group of its own. However the body ends (it returns, or is cancelled), the
// group's tasks are cancelled and have ended before this returns or throws on.
Awaitable<> with_tasks(std::function<Awaitable<>(TaskGroup&)> body);

// Runs all `tasks` at once until the first one ends, cancels and awaits the others, and returns the
// index of the first. A connection is first_of(reader, writer, keepalive).
Awaitable<std::size_t> first_of(std::vector<Awaitable<>> tasks);

namespace detail {

// True when `operation` ended before the deadline; in both cases it has ended.
Awaitable<bool> ended_by(Clock& clock, Instant deadline, Awaitable<> operation);

template <class T>
Awaitable<> store(Awaitable<Result<T>> operation, std::optional<Result<T>>& into) {
  into.emplace(co_await std::move(operation));
}

}  // namespace detail

// The outcome of `operation`; nothing when `stop` is told first (the operation is cancelled and
// awaited).
template <class T>
Awaitable<std::optional<Result<T>>> unless_told(std::shared_ptr<Gate> stop,
                                                Awaitable<Result<T>> operation) {
  std::optional<Result<T>> result;
  std::vector<Awaitable<>> both;
  both.push_back(detail::store(std::move(operation), result));
  both.push_back(stop->wait());
  if (co_await first_of(std::move(both)) != 0) co_return std::nullopt;
  co_return std::move(result);
}

// `operation` or Errc::timed_out when `deadline` comes first (the operation is cancelled and
// awaited; a value it still brought is kept).
template <class T>
Awaitable<Result<T>> with_deadline(Clock& clock, Instant deadline, Awaitable<Result<T>> operation) {
  std::optional<Result<T>> result;
  bool const in_time =
      co_await detail::ended_by(clock, deadline, detail::store(std::move(operation), result));
  if (result && (in_time || result->has_value())) co_return std::move(*result);
  co_return fail(Errc::timed_out);
}

}  // namespace grapevine
