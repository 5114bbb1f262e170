// DataFile: the bytes of one file: small ones read, large ones mapped. And the walk over a folder
// that finds them, the same everywhere: by name, links resolved, each file once.
#pragma once

#include "grapevine/base/bytes.hpp"

#include <string>
#include <vector>

namespace grapevine {

class DataFile {
 public:
  // Errc::data_missing, or data_unreadable with the reason of the system; both name the path.
  [[nodiscard]] static Result<DataFile> open(std::string const& path);
  [[nodiscard]] static DataFile from_text(std::string path, std::string_view text);
  ~DataFile();
  DataFile(DataFile&& other) noexcept;
  DataFile& operator=(DataFile&& other) noexcept;

  [[nodiscard]] ByteView bytes() const { return bytes_; }
  [[nodiscard]] std::string const& path() const { return path_; }

 private:
  DataFile() = default;

  std::string path_;
  Bytes owned_;
  ByteView bytes_;
  bool mapped_ = false;
};

struct FoundFiles {
  std::vector<std::string> paths;  // sorted
  std::vector<std::string> notes;  // what was left out
};
[[nodiscard]] bool is_folder(std::string const& path);
[[nodiscard]] Result<FoundFiles> find_files(std::string const& folder);

}  // namespace grapevine
