#include "grapevine/runtime/gate.hpp"

#include "loop_fixture.hpp"

#include <doctest/doctest.h>

#include <deque>
#include <memory>

using namespace grapevine;

namespace {

Awaitable<> produce(std::deque<int>& queue, Gate& gate, int count) {
  for (int i = 0; i < count; ++i) {
    queue.push_back(i);
    gate.notify_all();
    gate.notify_all();
  }
  co_return;
}

Awaitable<> consume(std::deque<int>& queue, Gate& gate, int count, int& sum) {
  for (int taken = 0; taken < count; ++taken) {
    while (queue.empty()) co_await gate.wait();
    sum += queue.front();
    queue.pop_front();
  }
}

Awaitable<> set_when_open(Gate& gate, int& opened) {
  co_await gate.wait();
  ++opened;
}

Awaitable<> spawn_both(TaskGroup& tasks, Awaitable<> first, Awaitable<> second) {
  tasks.spawn(std::move(first));
  tasks.spawn(std::move(second));
  co_return;
}

}  // namespace

TEST_CASE_FIXTURE(LoopFixture, "no wake-up is lost, whoever comes first") {
  for (bool const producer_first : {true, false}) {
    std::deque<int> queue;
    Gate gate;
    int sum = 0;
    auto producer = produce(queue, gate, 100);
    auto consumer = consume(queue, gate, 100, sum);
    run(producer_first ? spawn_both(tasks, std::move(producer), std::move(consumer))
                       : spawn_both(tasks, std::move(consumer), std::move(producer)));
    CHECK(sum == 4950);
  }
}

namespace {

Awaitable<> notify_and_destroy(TaskGroup& tasks, std::unique_ptr<Gate>& gate, int& opened) {
  tasks.spawn(set_when_open(*gate, opened));
  tasks.spawn(set_when_open(*gate, opened));
  CHECK(gate->waiting() == 2);
  gate->notify_all();
  CHECK(opened == 0);  // they run later
  gate.reset();
  co_return;
}

}  // namespace

TEST_CASE_FIXTURE(LoopFixture, "a gate may go as soon as it has notified") {
  auto gate = std::make_unique<Gate>();
  int opened = 0;
  run(notify_and_destroy(tasks, gate, opened));
  CHECK(opened == 2);
}

namespace {

Awaitable<> notify_and_cancel(Gate& gate, TaskGroup& group, int& opened) {
  group.spawn(set_when_open(gate, opened));
  gate.notify_all();
  group.cancel();
  co_await group.join();
}

}  // namespace

TEST_CASE_FIXTURE(LoopFixture, "a cancellation after the wake-up finds nothing to do") {
  Gate gate;
  int opened = 0;
  TaskGroup group(loop.get_executor());
  run(notify_and_cancel(gate, group, opened));
  CHECK(opened == 1);  // woken first: the wait itself succeeded
}
