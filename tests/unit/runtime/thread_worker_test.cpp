#include "grapevine/runtime/thread_worker.hpp"

#include "grapevine/runtime/gate.hpp"
#include "loop_fixture.hpp"

#include <doctest/doctest.h>

#include <pthread.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>
#include <vector>

using namespace grapevine;

namespace {

// Returns when it is asked to stop, and says when it has begun.
struct Stoppable {
  std::promise<void> begun;
  bool stopped = false;

  void operator()(std::stop_token stop) {
    begun.set_value();
    std::mutex mutex;
    std::condition_variable_any changed;
    std::unique_lock lock(mutex);
    changed.wait(lock, stop, [] { return false; });
    stopped = stop.stop_requested();
  }
};

Awaitable<> run_job(Worker& worker, Worker::Job job, int& returned) {
  co_await worker.run(std::move(job));
  ++returned;
}

Awaitable<> sum_on(Worker& worker, int& sum, int count, std::size_t& most) {
  for (int i = 0; i < count; ++i) {
    std::vector<int> const numbers(100, i);
    auto add = [&numbers](std::stop_token) {
      int total = 0;
      for (int const number : numbers) total += number;
      return total;
    };
    sum += co_await run_on<int>(worker, add);
    most = std::max(most, worker.queued());
  }
}

Awaitable<> cancel_running(TaskGroup& group, Worker& worker, Stoppable& job, int& later) {
  int returned = 0;
  auto forward = [&job](std::stop_token stop) { job(std::move(stop)); };
  auto count = [&later](std::stop_token) { ++later; };
  group.spawn(run_job(worker, forward, returned));
  group.spawn(run_job(worker, count, returned));
  job.begun.get_future().wait();
  CHECK(worker.queued() == 2);
  group.cancel();
  group.cancel();
  co_await group.join();
  CHECK(worker.queued() == 0);
  CHECK(returned == 1);  // the job that ran; the one that waited was dropped
}

}  // namespace

TEST_CASE_FIXTURE(LoopFixture, "values come back to the loop, jobs use their caller's frame") {
  ThreadWorker worker("test", 2);
  std::array<int, 4> sums{};
  std::size_t most = 0;
  for (int& sum : sums) tasks.spawn(sum_on(worker, sum, 20, most));  // more callers than room
  int extra = 0;
  run(sum_on(worker, extra, 1, most));
  CHECK(most <= 2);
  for (int const sum : sums) CHECK(sum == 19'000);
  CHECK(worker.queued() == 0);
}

TEST_CASE_FIXTURE(LoopFixture, "cancel stops the running job and drops the waiting one") {
  ThreadWorker worker("test", 4);
  TaskGroup group(loop.get_executor());
  Stoppable job;
  int later = 0;
  run(cancel_running(group, worker, job, later));
  CHECK(job.stopped);
  CHECK(later == 0);
}

TEST_CASE_FIXTURE(LoopFixture, "jobs run on the worker's own, named thread") {
  ThreadWorker worker("gv-named", 1);
  std::string name(16, '\0');
  auto const loop_thread = std::this_thread::get_id();
  bool elsewhere = false;
  int returned = 0;
  auto look = [&name, &elsewhere, loop_thread](std::stop_token) {
    ::pthread_getname_np(::pthread_self(), name.data(), name.size());
    elsewhere = std::this_thread::get_id() != loop_thread;
  };
  run(run_job(worker, look, returned));
  CHECK(std::string(name.c_str()) == "gv-named");
  CHECK(elsewhere);
  CHECK(returned == 1);
}
