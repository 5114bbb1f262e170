// FileStorage: the real Storage, a home directory on disk. Held by one process at a time: HOME/lock
// is flocked, and a second peer on the same home is refused with the first one's process id. Calls
// may come from any thread; one path has one writer at a time.
#pragma once

#include "grapevine/runtime/storage.hpp"

namespace grapevine {

class FileStorage final : public Storage {
 public:
  // Makes the folder (0700) when it is absent. Errc::home_in_use, not_writable, disk_full.
  static Result<std::unique_ptr<FileStorage>> open(std::string home);
  ~FileStorage() override;

  Result<Bytes> read(std::string_view path) override;
  Result<> write_atomic(std::string_view path, ByteView content, bool secret) override;
  Result<> write_folder(std::string_view path, std::span<File const> files) override;
  Result<> remove(std::string_view path) override;
  Result<> rename(std::string_view from, std::string_view to) override;
  Result<std::vector<std::string>> list(std::string_view folder) override;
  bool exists(std::string_view path) override;
  Result<std::uint64_t> free_bytes() override;
  Result<std::unique_ptr<Database>> open_database(std::string_view path) override;
  std::string describe(std::string_view path) const override;

 private:
  FileStorage(std::string home, int folder, int lock)
      : home_(std::move(home)), folder_(folder), lock_(lock) {}

  std::string home_;
  int folder_;
  int lock_;
};

}  // namespace grapevine
