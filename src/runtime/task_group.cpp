#include "grapevine/runtime/task_group.hpp"

#include "grapevine/base/assert.hpp"
#include "grapevine/base/log.hpp"
#include "grapevine/runtime/cancellation.hpp"
#include "grapevine/runtime/gate.hpp"
#include "runtime/task_census_detail.hpp"

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

// Asio 1.26: a task that is cancelled before its first statement, or that was cancelled and ends
// without ever having been suspended, throws out of the loop (its entry point awaits once more). So
// a task that has not begun is told here, and one that ends no longer throws.
struct Task {
  asio::cancellation_signal signal;
  bool begun = false;
  bool cancelled = false;  // before it began
};

Awaitable<> run_task(Task& entry, Awaitable<> task) {
  entry.begun = true;
  if (entry.cancelled) co_return;
  std::exception_ptr error;
  try {
    co_await std::move(task);
  } catch (...) {
    error = std::current_exception();
  }
  co_await asio::this_coro::throw_if_cancelled(false);
  abort_unless_cancellation(error);
}

}  // namespace

struct TaskGroup::State {
  Executor executor;
  std::list<Task> tasks;  // a task's end erases it
  Gate empty;
  TaskCensus::Groups& census;
  std::list<TaskGroup*>::iterator entry;
};

TaskGroup::TaskGroup(Executor executor) {
  auto& census = TaskCensus::Groups::of(executor);
  auto const entry = census.groups.insert(census.groups.end(), this);
  state_.reset(new State{std::move(executor), {}, {}, census, entry});
}

TaskGroup::~TaskGroup() {
  ASSERT(state_->tasks.empty());
  state_->census.groups.erase(state_->entry);
}

// The completion handler of a task. A type of its own, not a bound lambda: for one without an
// associated executor co_spawn passes a cancellation on at once. Otherwise it may be posted, and
// come when the signal is no more.
struct TaskGroup::Ended {
  State* state;
  std::list<Task>::iterator entry;

  using cancellation_slot_type = asio::cancellation_slot;
  [[nodiscard]] cancellation_slot_type get_cancellation_slot() const noexcept {
    return entry->signal.slot();
  }
  void operator()(std::exception_ptr) const {
    state->tasks.erase(entry);
    if (state->tasks.empty()) state->empty.notify_all();
  }
};

void TaskGroup::spawn(Awaitable<> task) {
  auto const entry = state_->tasks.emplace(state_->tasks.end());
  asio::co_spawn(state_->executor, run_task(*entry, std::move(task)), Ended{state_.get(), entry});
}

void TaskGroup::cancel() {
  for (auto next = state_->tasks.begin(); next != state_->tasks.end();) {
    auto& task = *next++;
    if (task.begun)
      task.signal.emit(asio::cancellation_type::terminal);
    else
      task.cancelled = true;
  }
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

void end(Race& race, std::size_t index) {
  if (!race.first) race.first = index;
  race.ended.notify_all();
}

Awaitable<> run_one(Awaitable<> task, std::size_t index, Race& race) {
  std::exception_ptr error;
  try {
    co_await std::move(task);
  } catch (...) {
    error = std::current_exception();
  }
  end(race, index);
  abort_unless_cancellation(error);
}

Awaitable<> wait_for_first(TaskGroup& group, Race& race, std::vector<Awaitable<>>& tasks) {
  for (std::size_t i = 0; i < tasks.size(); ++i) group.spawn(run_one(std::move(tasks[i]), i, race));
  while (!race.first) co_await race.ended.wait();
}

Awaitable<> run_race(Race& race, std::vector<Awaitable<>>& tasks) {
  std::function<Awaitable<>(TaskGroup&)> body = [&race, &tasks](TaskGroup& group) {
    return wait_for_first(group, race, tasks);
  };
  co_await with_tasks(std::move(body));
}

}  // namespace

Awaitable<std::size_t> first_of(std::vector<Awaitable<>> tasks) {
  ASSERT(!tasks.empty());
  Race race;
  co_await run_race(race, tasks);
  co_return *race.first;
}

namespace detail {

Awaitable<bool> ended_by(Clock& clock, Instant deadline, Awaitable<> operation) {
  Race race;
  std::function<void()> ring = [&race] { end(race, 1); };
  auto const executor = co_await asio::this_coro::executor;
  auto const alarm = clock.alarm(executor, deadline, std::move(ring));
  std::vector<Awaitable<>> one;
  one.push_back(std::move(operation));
  co_await run_race(race, one);
  co_return *race.first == 0;
}

}  // namespace detail
}  // namespace grapevine
