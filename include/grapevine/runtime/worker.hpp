// Worker: the door to another thread. A job is a function of a stop token; it runs on the worker's
// one thread, its value comes back to the awaiting coroutine on the loop thread. Cancelling the
// awaiting coroutine asks the job to stop and then waits for it to answer: a job never outlives the
// coroutine that awaits it, so it may use what that coroutine's frame owns.
#pragma once

#include "grapevine/runtime/clock.hpp"

#include <functional>
#include <optional>
#include <stop_token>

namespace grapevine {

class Worker {
 public:
  using Job = std::function<void(std::stop_token)>;
  virtual ~Worker() = default;
  // Runs `job` and returns when it has ended, on the caller's executor. The job catches what it
  // throws.
  virtual Awaitable<> run(Job job) = 0;
  [[nodiscard]] virtual std::size_t queued() const = 0;
};

// The value form: `auto report = co_await run_on(worker, function)`. `function` takes a
// std::stop_token and returns a T; bind a capturing lambda to a named local first.
template <class T, class Function>
Awaitable<T> run_on(Worker& worker, Function function) {
  std::optional<T> value;
  Worker::Job job = [&value, &function](std::stop_token stop) { value.emplace(function(stop)); };
  co_await worker.run(job);
  co_return std::move(*value);
}

}  // namespace grapevine
