// FileStorage: the real Storage, a home directory on disk. Held by one process at a time: HOME/lock
// is flocked, and a second peer on the same home is refused with the first one's process id. Calls
// may come from any thread; one path has one writer at a time.
#pragma once

#include "grapevine/runtime/durable_storage.hpp"

namespace grapevine {

class FileStorage final : public DurableStorage {
 public:
  // Makes the folder (0700) when it is absent. Errc::home_in_use, not_writable, disk_full.
  static Result<std::unique_ptr<FileStorage>> open(std::string home);

 private:
  explicit FileStorage(std::unique_ptr<Disk> disk)
      : DurableStorage(*disk), home_(std::move(disk)) {}

  std::unique_ptr<Disk> home_;
};

}  // namespace grapevine
