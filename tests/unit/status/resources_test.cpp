#include "grapevine/status/resources.hpp"

#include "unit/scratch_folder.hpp"

#include <doctest/doctest.h>

#include <pthread.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

using namespace grapevine;

namespace {

void spend_processor_time(double seconds) {
  timespec spent{};
  do {
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
  } while (static_cast<double>(spent.tv_sec) + 1e-9 * static_cast<double>(spent.tv_nsec) < seconds);
}

}  // namespace

TEST_CASE("processor time is told apart by the thread that spent it") {
  auto const before = read_resources("/nowhere");
  std::promise<void> spent;
  std::promise<void> measured;
  std::jthread const trainer([&] {
    ::pthread_setname_np(::pthread_self(), "gv-train");
    spend_processor_time(0.2);
    spent.set_value();
    measured.get_future().wait();
  });
  spent.get_future().wait();
  auto const after = read_resources("/nowhere");
  measured.set_value();
  CHECK(before.cpu_train_s == 0);
  CHECK(after.cpu_train_s >= 0.15);  // counted in ticks of 10 ms
  CHECK(after.cpu_node_s < after.cpu_train_s);
}

TEST_CASE("memory, descriptors and the size of the home are measured") {
  test::ScratchFolder const scratch;
  auto const& home = scratch.path;
  std::filesystem::create_directories(home + "/checkpoints/3");
  auto const before = read_resources(home);
  std::ofstream file(home + "/checkpoints/3/model");
  file << std::string(1234, 'x') << std::flush;
  auto const after = read_resources(home);
  CHECK(before.disk_bytes == 0);
  CHECK(after.disk_bytes == 1234);
  CHECK(after.open_fds == before.open_fds + 1);
  CHECK(after.rss_bytes > 100'000);
  CHECK_FALSE(after.vram_bytes.has_value());
  std::filesystem::remove_all(home);
  CHECK(read_resources(home).disk_bytes == 0);
}
