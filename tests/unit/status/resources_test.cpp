#include "grapevine/status/resources.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

using namespace grapevine;

TEST_CASE("memory, descriptors and the size of the home are measured") {
  std::string home = (std::filesystem::temp_directory_path() / "grapevine-XXXXXX").string();
  REQUIRE(::mkdtemp(home.data()) != nullptr);
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
