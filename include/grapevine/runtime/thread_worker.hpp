// ThreadWorker: the real Worker, one thread and a bounded queue. Its public calls are for the loop
// thread; the jobs run on its own. A job that was cancelled before it began never runs: its
// coroutine leaves by the cancellation. Destroyed when no job is left.
#pragma once

#include "grapevine/runtime/worker.hpp"

#include <memory>
#include <string>

namespace grapevine {

class ThreadWorker final : public Worker {
 public:
  // `name` is what the system's tools show, at most 15 characters. More than `jobs_max` jobs at
  // once make their callers wait.
  ThreadWorker(std::string name, std::size_t jobs_max);
  ~ThreadWorker() override;

  Awaitable<> run(Job job) override;
  [[nodiscard]] std::size_t queued() const override;  // waiting or running

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace grapevine
