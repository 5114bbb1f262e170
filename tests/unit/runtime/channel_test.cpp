#include "grapevine/runtime/channel.hpp"

#include "loop_fixture.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace grapevine;

namespace {

Awaitable<> push_all(Channel<int>& channel, int count, std::size_t& most) {
  for (int i = 0; i < count; ++i) {
    CHECK(co_await channel.push(i));
    most = std::max(most, channel.size());
  }
  channel.close();
}

Awaitable<> pop_all(Channel<int>& channel, std::vector<int>& out) {
  while (auto item = co_await channel.pop()) out.push_back(*item);
}

Awaitable<> push_one(Channel<int>& channel, int& pushed) {
  pushed = co_await channel.push(9) ? 1 : 0;
}

}  // namespace

TEST_CASE_FIXTURE(LoopFixture, "a channel keeps order and never holds more than its capacity") {
  for (std::size_t const capacity : {1U, 2U, 7U}) {
    Channel<int> channel(capacity);
    std::size_t most = 0;
    std::vector<int> out;
    tasks.spawn(push_all(channel, 50, most));
    run(pop_all(channel, out));
    REQUIRE(out.size() == 50);
    for (int i = 0; i < 50; ++i) CHECK(out[static_cast<std::size_t>(i)] == i);
    CHECK(most <= capacity);
  }
}

TEST_CASE_FIXTURE(LoopFixture, "closing wakes a writer that waits; what is inside can be taken") {
  Channel<int> channel(1);
  CHECK(channel.try_push(1));
  CHECK_FALSE(channel.try_push(2));
  int pushed = -1;
  std::vector<int> out;
  tasks.spawn(push_one(channel, pushed));
  channel.close();
  CHECK_FALSE(channel.try_push(3));
  run(pop_all(channel, out));
  CHECK(pushed == 0);
  CHECK(out == std::vector<int>{1});
}
