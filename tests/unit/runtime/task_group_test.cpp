#include "grapevine/runtime/task_group.hpp"

#include "grapevine/runtime/cancellation.hpp"
#include "grapevine/runtime/gate.hpp"
#include "grapevine/runtime/steady_clock.hpp"
#include "grapevine/runtime/task_census.hpp"
#include "loop_fixture.hpp"

#include <doctest/doctest.h>
#include <boost/asio/this_coro.hpp>

using namespace grapevine;

namespace {

struct CountsItsEnd {
  int& ends;
  ~CountsItsEnd() { ++ends; }
};

Awaitable<> wait_in(Gate& gate, int& ends) {
  CountsItsEnd const counted{ends};
  co_await gate.wait();
}

Awaitable<> sleep_long(Clock& clock, int& ends) {
  CountsItsEnd const counted{ends};
  co_await clock.sleep_for(60min);
}

Awaitable<> nothing(int& ends) {
  ++ends;
  co_return;
}

Awaitable<> parent_of_two(Gate& gate, int& ends) {
  CountsItsEnd const counted{ends};
  std::vector<Awaitable<>> both;
  both.push_back(wait_in(gate, ends));
  both.push_back(wait_in(gate, ends));
  co_await first_of(std::move(both));
}

Awaitable<> cancel_all_kinds(TaskGroup& group, Gate& gate, Clock& clock, int& ends) {
  group.spawn(wait_in(gate, ends));
  group.spawn(sleep_long(clock, ends));
  group.spawn(parent_of_two(gate, ends));
  CHECK(group.size() == 3);
  group.cancel();
  group.cancel();  // twice is as good as once
  group.spawn(nothing(ends));
  co_await group.join();
  CHECK(group.size() == 0);
  CHECK(ends == 6);
}

}  // namespace

TEST_CASE_FIXTURE(LoopFixture, "cancel ends tasks that wait, sleep, race or have not begun") {
  int ends = 0;
  Gate gate;
  SteadyClock clock;
  TaskGroup group(loop.get_executor());
  run(cancel_all_kinds(group, gate, clock, ends));
  CHECK(ends == 6);
  CHECK(gate.waiting() == 0);
}

TEST_CASE_FIXTURE(LoopFixture, "join of an empty group returns at once") {
  TaskGroup group(loop.get_executor());
  run(group.join());
}

namespace {

Awaitable<> waits_in_scope(Gate& gate, int& ends) {
  std::function<Awaitable<>(TaskGroup&)> inner = [&gate, &ends](TaskGroup& tasks) {
    tasks.spawn(wait_in(gate, ends));
    return wait_in(gate, ends);
  };
  co_await with_tasks(std::move(inner));
  FAIL("the cancellation must go on");
}

Awaitable<> cancel_when_two_wait(TaskGroup& group, Gate& gate, int& ends, Awaitable<> task) {
  group.spawn(std::move(task));
  CHECK(gate.waiting() == 2);
  group.cancel();
  co_await group.join();
  CHECK(ends == 2);
}

}  // namespace

TEST_CASE_FIXTURE(LoopFixture, "a cancelled parent takes the tasks of its scope with it") {
  int ends = 0;
  Gate gate;
  TaskGroup group(loop.get_executor());
  run(cancel_when_two_wait(group, gate, ends, waits_in_scope(gate, ends)));
}

namespace {

Awaitable<Result<int>> answer(Gate& gate, int value) {
  co_await gate.wait();
  co_return value;
}
Awaitable<Result<int>> answer_now(int value) { co_return value; }
Awaitable<Result<int>> fail_now() { co_return fail(Errc::reset, "the link"); }
Awaitable<> answer_in_time(Clock& clock, Gate& gate, int& into) {
  auto const result = co_await with_deadline(clock, clock.now() + 60min, answer(gate, 8));
  into = result.value();
}

Awaitable<> race_deadlines(TaskGroup& tasks, int& checked) {
  SteadyClock clock;
  Gate gate;
  auto const later = clock.now() + 60min;
  auto const value = co_await with_deadline(clock, later, answer_now(7));
  CHECK(value.value() == 7);
  auto const error = co_await with_deadline(clock, later, fail_now());
  CHECK(error.error().errc() == Errc::reset);  // at once, and not a timeout
  auto const late = co_await with_deadline(clock, clock.now(), answer(gate, 7));
  CHECK(late.error().errc() == Errc::timed_out);
  CHECK(gate.waiting() == 0);  // the operation was ended
  int waited = 0;
  tasks.spawn(answer_in_time(clock, gate, waited));
  gate.notify_all();
  co_await tasks.join();
  CHECK(waited == 8);
  checked = 1;
}

}  // namespace

TEST_CASE_FIXTURE(LoopFixture, "with_deadline: value, error, timeout") {
  int checked = 0;
  TaskGroup group(loop.get_executor());
  run(race_deadlines(group, checked));
  CHECK(checked == 1);
}

namespace {

Awaitable<> waits_with_deadline(Clock& clock, Gate& gate, int& ends) {
  CountsItsEnd const counted{ends};
  auto const result = co_await with_deadline(clock, clock.now() + 60min, answer(gate, 1));
  FAIL("not reached: ", result.has_value());
}

Awaitable<> cancel_at_once(TaskGroup& group, Gate& gate, Awaitable<> task) {
  group.spawn(std::move(task));
  group.cancel();
  co_await group.join();
  CHECK(gate.waiting() == 0);
}

}  // namespace

TEST_CASE_FIXTURE(LoopFixture, "with_deadline passes a cancellation on") {
  SteadyClock clock;
  Gate gate;
  int ends = 0;
  TaskGroup group(loop.get_executor());
  run(cancel_at_once(group, gate, waits_with_deadline(clock, gate, ends)));
  CHECK(ends == 1);
}

namespace {

Awaitable<> cancel_everything(TaskCensus& census) {
  CHECK(census.size() == 6);  // this one, a parent of two, two more
  census.cancel_all();
  co_return;
}

}  // namespace

TEST_CASE_FIXTURE(LoopFixture, "the census knows every task and can end them all") {
  int ends = 0;
  Gate gate;
  TaskGroup one(loop.get_executor());
  TaskGroup other(loop.get_executor());
  TaskCensus census(loop.get_executor());
  one.spawn(parent_of_two(gate, ends));
  other.spawn(wait_in(gate, ends));
  other.spawn(wait_in(gate, ends));
  run(cancel_everything(census));
  CHECK(ends == 5);
  CHECK(census.size() == 0);
}

namespace {

Awaitable<> cancel_own_group(TaskGroup& group, int& ends) {
  CountsItsEnd const counted{ends};
  group.cancel();
  co_return;
}

}  // namespace

TEST_CASE_FIXTURE(LoopFixture, "a task that cancels itself and never waits ends like any other") {
  int ends = 0;
  TaskGroup group(loop.get_executor());
  group.spawn(cancel_own_group(group, ends));
  run(group.join());
  CHECK(ends == 1);
}

TEST_CASE_FIXTURE(LoopFixture, "a task that is cancelled before it begins never does") {
  int ends = 0;
  TaskGroup group(loop.get_executor());
  group.spawn(nothing(ends));
  group.cancel();
  group.spawn(nothing(ends));
  run(group.join());
  CHECK(ends == 1);
}

namespace {

Awaitable<> set_alarms(std::vector<int>& rung) {
  SteadyClock clock;
  Gate changed;
  auto const executor = co_await boost::asio::this_coro::executor;
  auto const set = [&](int number, Duration after) {
    auto ring = [&rung, &changed, number] {
      rung.push_back(number);
      changed.notify_all();
    };
    return clock.alarm(executor, clock.now() + after, std::move(ring));
  };
  auto const later = set(3, 2ms), long_over = set(1, -1s);
  CHECK(rung.empty());  // never inside the call
  (void)set(0, -1s);    // gone before it could
  auto const never = set(4, 60min);
  while (rung.size() < 2) co_await changed.wait();
}

}  // namespace

TEST_CASE_FIXTURE(LoopFixture, "an alarm rings once when it is due, and not when it is gone") {
  std::vector<int> rung;
  run(set_alarms(rung));
  CHECK(rung == std::vector{1, 3});
}
