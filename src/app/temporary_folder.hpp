// TemporaryFolder: a new folder below the system's, gone with the object.
#pragma once

#include "grapevine/base/result.hpp"

#include <string>
#include <string_view>

namespace grapevine {

class TemporaryFolder {
 public:
  // Named after `purpose`, "grapevine-PURPOSE-XXXXXX". Errc::not_writable.
  static Result<TemporaryFolder> make(std::string_view purpose);
  ~TemporaryFolder();
  TemporaryFolder(TemporaryFolder&& other) noexcept;
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;

  [[nodiscard]] std::string const& path() const { return path_; }

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}

  std::string path_;  // empty: moved from
};

// The same without an owner: the folder stays.
[[nodiscard]] Result<std::string> make_temporary_folder(std::string_view purpose);

}  // namespace grapevine
