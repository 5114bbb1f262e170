#include "app/temporary_folder.hpp"

#include <fmt/core.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

namespace grapevine {

namespace fs = std::filesystem;

Result<std::string> make_temporary_folder(std::string_view purpose) {
  std::error_code error;
  auto path =
      (fs::temp_directory_path(error) / fmt::format("grapevine-{}-XXXXXX", purpose)).string();
  if (::mkdtemp(path.data()) == nullptr)
    return fail(Errc::not_writable, path + ": " + std::strerror(errno));
  return path;
}

Result<TemporaryFolder> TemporaryFolder::make(std::string_view purpose) {
  TRY_ASSIGN(auto path, make_temporary_folder(purpose));
  return TemporaryFolder(std::move(path));
}

TemporaryFolder::TemporaryFolder(TemporaryFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})) {}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

}  // namespace grapevine
