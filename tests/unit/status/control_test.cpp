#include "grapevine/status/control.hpp"

#include "grapevine/base/limits.hpp"
#include "grapevine/runtime/file_storage.hpp"

#include "unit/scratch_folder.hpp"

#include <doctest/doctest.h>

#include <sys/stat.h>

using namespace grapevine;

namespace {

struct HomeFixture {
  test::ScratchFolder scratch;
  std::string const& parent = scratch.path;
  std::string file = parent + "/home/control.token";
  std::unique_ptr<Storage> storage = FileStorage::open(parent + "/home").value();
  SeededRandom random{1};

  [[nodiscard]] std::string token() {
    return load_or_create_control_token(*storage, random).value();
  }
  [[nodiscard]] unsigned mode() const {
    struct stat about{};
    REQUIRE(::stat(file.c_str(), &about) == 0);
    return about.st_mode & 0777U;
  }
};

}  // namespace

TEST_CASE_FIXTURE(HomeFixture, "a token is random, kept, and its owner's alone") {
  auto const first = token();
  CHECK(first.size() == 64);
  CHECK(as_text(storage->read("control.token", 100).value()) == first);
  CHECK(mode() == 0600);
  CHECK(token() == first);
  REQUIRE(::chmod(file.c_str(), 0644) == 0);
  CHECK(token() == first);
  CHECK(mode() == 0600);
  CHECK(storage->remove("control.token").has_value());
  CHECK(token() != first);
}

TEST_CASE_FIXTURE(HomeFixture, "what is no token is replaced by one") {
  auto const first = token();
  for (auto const& content :
       {std::string(), first.substr(1), std::string(limits::small_text_file_bytes_max + 1, 'a')}) {
    CHECK(storage->write_atomic("control.token", as_bytes(content)).has_value());
    CHECK(token().size() == 64);
    CHECK(mode() == 0600);
  }
}
