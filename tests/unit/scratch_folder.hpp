// An empty folder of a test's own, gone with everything in it at the end. Declared before whatever
// has files open in it.
#pragma once

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace grapevine::test {

struct ScratchFolder {
  std::string path = (std::filesystem::temp_directory_path() / "grapevine-XXXXXX").string();

  ScratchFolder() { REQUIRE(::mkdtemp(path.data()) != nullptr); }
  ScratchFolder(ScratchFolder const&) = delete;
  ScratchFolder& operator=(ScratchFolder const&) = delete;
  ~ScratchFolder() { std::filesystem::remove_all(path); }
};

}  // namespace grapevine::test
