#include "grapevine/runtime/thread_worker.hpp"

#include "grapevine/base/assert.hpp"
#include "grapevine/runtime/cancellation.hpp"
#include "grapevine/runtime/gate.hpp"

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace grapevine {

namespace asio = boost::asio;

namespace {

enum class Ended : std::uint8_t { ran, dropped };
using Handler = asio::async_result<asio::use_awaitable_t<>, void(Ended)>::handler_type;

// Shared by the queue, the thread and the cancellation slot. `handler` belongs to whoever took the
// task out of the queue: the thread, or the cancellation.
struct Task {
  Worker::Job const& job;  // in the frame of run(), which waits for us
  Handler handler;
  std::stop_source stop;

  void finish(Ended ended) {
    auto const executor = asio::get_associated_executor(handler);
    auto resume = [taken = std::move(handler), ended]() mutable { std::move(taken)(ended); };
    asio::post(executor, std::move(resume));
  }
};

}  // namespace

struct ThreadWorker::State {
  // Loop thread only.
  std::size_t jobs_max;
  std::size_t jobs = 0;
  Gate room;

  std::mutex mutex;
  std::condition_variable_any changed;
  std::deque<std::shared_ptr<Task>> queue;
  std::jthread thread;  // last: it ends before the rest goes

  void work(std::stop_token stop) {
    for (;;) {
      std::unique_lock lock(mutex);
      if (!changed.wait(lock, stop, [this] { return !queue.empty(); })) return;
      auto const task = std::move(queue.front());
      queue.pop_front();
      lock.unlock();
      task->job(task->stop.get_token());
      task->finish(Ended::ran);
    }
  }

  void cancel(std::shared_ptr<Task> const& task) {
    std::unique_lock lock(mutex);
    auto const place = std::ranges::find(queue, task);
    bool const waiting = place != queue.end();
    if (waiting) queue.erase(place);
    lock.unlock();
    if (waiting)
      task->finish(Ended::dropped);
    else
      task->stop.request_stop();
  }

  void start(Job const& job, Handler handler) {
    auto slot = asio::get_associated_cancellation_slot(handler);
    auto const task = std::make_shared<Task>(Task{job, std::move(handler), {}});
    if (slot.is_connected()) {
      slot.assign([this, task](asio::cancellation_type type) {
        if (type != asio::cancellation_type::none) cancel(task);
      });
    }
    {
      std::lock_guard const lock(mutex);
      queue.push_back(task);
    }
    changed.notify_one();
  }
};

namespace {

struct CountedIn {
  std::size_t& jobs;
  Gate& room;
  CountedIn(std::size_t& counter, Gate& gate) : jobs(counter), room(gate) { ++jobs; }
  CountedIn(CountedIn const&) = delete;
  ~CountedIn() {
    --jobs;
    room.notify_all();
  }
};

}  // namespace

ThreadWorker::ThreadWorker(std::string name, std::size_t jobs_max)
    : state_(std::make_unique<State>()) {
  ASSERT(jobs_max > 0);
  ASSERT(name.size() <= 15);
  state_->jobs_max = jobs_max;
  state_->thread = std::jthread([state = state_.get(), name](std::stop_token stop) {
    ::pthread_setname_np(::pthread_self(), name.c_str());
    state->work(std::move(stop));
  });
}

ThreadWorker::~ThreadWorker() { ASSERT(state_->jobs == 0); }

Awaitable<> ThreadWorker::run(Job job) {
  while (state_->jobs >= state_->jobs_max) co_await state_->room.wait();
  CountedIn const counted(state_->jobs, state_->room);
  auto initiate = [state = state_.get(), &job](Handler handler) {
    state->start(job, std::move(handler));
  };
  auto const ended = co_await asio::async_initiate<asio::use_awaitable_t<> const, void(Ended)>(
      initiate, asio::use_awaitable);
  if (ended == Ended::dropped) throw_cancelled();
}

std::size_t ThreadWorker::queued() const { return state_->jobs; }

}  // namespace grapevine
