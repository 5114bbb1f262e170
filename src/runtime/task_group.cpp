#include "grapevine/runtime/task_group.hpp"

#include "grapevine/base/assert.hpp"
#include "grapevine/base/log.hpp"
#include "grapevine/runtime/cancellation.hpp"
#include "grapevine/runtime/gate.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>

#include <list>

namespace grapevine {

namespace asio = boost::asio;

namespace {

std::string what(std::exception_ptr const& error) {
  try {
    std::rethrow_exception(error);
  } catch (std::exception const& thrown) {
    return thrown.what();
  } catch (...) {
    return "not a std::exception";
  }
}

void abort_unless_cancellation(std::exception_ptr const& error) {
  if (!error || is_cancellation(error)) return;
  log_error("a task ended by an exception: {}", what(error));
  ASSERT(!"a task ends by returning or by its cancellation");
}

}  // namespace

struct TaskGroup::State {
  Executor executor;
  std::list<asio::cancellation_signal> tasks;  // one signal a task; a task's end erases it
  Gate empty;
};

TaskGroup::TaskGroup(Executor executor) : state_(std::make_unique<State>()) {
  state_->executor = std::move(executor);
}

TaskGroup::~TaskGroup() { ASSERT(state_->tasks.empty()); }

void TaskGroup::spawn(Awaitable<> task) {
  auto const place = state_->tasks.emplace(state_->tasks.end());
  auto ended = [state = state_.get(), place](std::exception_ptr error) {
    abort_unless_cancellation(error);
    state->tasks.erase(place);
    if (state->tasks.empty()) state->empty.notify_all();
  };
  asio::co_spawn(state_->executor, std::move(task),
                 asio::bind_cancellation_slot(place->slot(), std::move(ended)));
}

void TaskGroup::cancel() {
  for (auto task = state_->tasks.begin(); task != state_->tasks.end();)
    (task++)->emit(asio::cancellation_type::terminal);
}

Awaitable<> TaskGroup::join() {
  bool const throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  while (!state_->tasks.empty()) co_await state_->empty.wait_uncancellable();
  co_await asio::this_coro::throw_if_cancelled(throws);
}

std::size_t TaskGroup::size() const { return state_->tasks.size(); }
Executor TaskGroup::executor() const { return state_->executor; }

Awaitable<> with_tasks(std::function<Awaitable<>(TaskGroup&)> body) {
  TaskGroup group(co_await asio::this_coro::executor);
  std::exception_ptr error;
  try {
    co_await body(group);
  } catch (...) {
    error = std::current_exception();
  }
  bool const throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  group.cancel();
  co_await group.join();
  co_await asio::this_coro::throw_if_cancelled(throws);
  if (error) std::rethrow_exception(error);
}

namespace {

struct Race {
  std::optional<std::size_t> first;
  Gate ended;
};

Awaitable<> run_one(Awaitable<> task, std::size_t index, Race& race) {
  std::exception_ptr error;
  try {
    co_await std::move(task);
  } catch (...) {
    error = std::current_exception();
  }
  if (!race.first) race.first = index;
  race.ended.notify_all();
  if (error) std::rethrow_exception(error);
}

Awaitable<> run_race(TaskGroup& group, Race& race, std::vector<Awaitable<>>& tasks) {
  for (std::size_t i = 0; i < tasks.size(); ++i) group.spawn(run_one(std::move(tasks[i]), i, race));
  while (!race.first) co_await race.ended.wait();
}

}  // namespace

Awaitable<std::size_t> first_of(std::vector<Awaitable<>> tasks) {
  ASSERT(!tasks.empty());
  Race race;
  std::function<Awaitable<>(TaskGroup&)> body = [&race, &tasks](TaskGroup& group) {
    return run_race(group, race, tasks);
  };
  co_await with_tasks(std::move(body));
  co_return *race.first;
}

namespace detail {

Awaitable<bool> ended_by(Clock& clock, Instant deadline, Awaitable<> operation) {
  std::vector<Awaitable<>> both;
  both.push_back(std::move(operation));
  both.push_back(clock.sleep_until(deadline));
  std::size_t const first = co_await first_of(std::move(both));
  co_return first == 0;
}

}  // namespace detail
}  // namespace grapevine
