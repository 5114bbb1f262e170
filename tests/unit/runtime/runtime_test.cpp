#include "grapevine/runtime/runtime.hpp"

#include "grapevine/runtime/file_storage.hpp"
#include "grapevine/runtime/gate.hpp"

#include "unit/scratch_folder.hpp"

#include <doctest/doctest.h>

#include <csignal>

using namespace grapevine;

namespace {

struct RuntimeFixture {
  test::ScratchFolder scratch;
  std::string const& parent = scratch.path;
  std::unique_ptr<Storage> storage = FileStorage::open(parent + "/home").value();
  Runtime runtime{*storage};
};

Awaitable<> use_every_door(Doors doors, int& used) {
  Bytes bytes(16);
  doors.random.fill(bytes);
  CHECK(bytes != Bytes(16));
  auto const begun = doors.clock.now();
  co_await doors.clock.sleep_for(1us);
  CHECK(doors.clock.now() >= begun + 1us);
  auto five = [](std::stop_token) { return 5; };
  used += co_await run_on<int>(doors.train, five);
  used += co_await run_on<int>(doors.heavy, five);
  CHECK(doors.storage.write_atomic("seen", bytes).has_value());
  CHECK(doors.network.listen({IpAddress::v4(127, 0, 0, 1), 0}).has_value());
}

Awaitable<> until_stopped(Gate& stop, bool& stopped) {
  std::raise(SIGTERM);
  while (!stopped) co_await stop.wait();
}

}  // namespace

TEST_CASE_FIXTURE(RuntimeFixture, "the doors are real, and run() ends when main has") {
  int used = 0;
  runtime.run(use_every_door(runtime.doors(), used));
  runtime.run(use_every_door(runtime.doors(), used));
  CHECK(used == 20);
  CHECK_FALSE(runtime.stopped_by().has_value());
}

TEST_CASE_FIXTURE(RuntimeFixture, "the first stop signal asks the main task to end") {
  Gate stop;
  bool stopped = false;
  runtime.on_stop_signal([&stop, &stopped](int) {
    stopped = true;
    stop.notify_all();
  });
  runtime.run(until_stopped(stop, stopped));
  CHECK(stopped);
  CHECK(runtime.stopped_by() == SIGTERM);
}
