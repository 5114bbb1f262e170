// Runs one coroutine on a loop of its own until nothing is left to do.
#pragma once

#include "grapevine/base/assert.hpp"
#include "grapevine/runtime/task_group.hpp"

#include <boost/asio/io_context.hpp>

namespace grapevine {

struct LoopFixture {
  boost::asio::io_context loop{1};
  TaskGroup tasks{loop.get_executor()};

  void run(Awaitable<> task) {
    tasks.spawn(std::move(task));
    loop.restart();
    loop.run();
    ASSERT(tasks.size() == 0);
  }
};

}  // namespace grapevine
