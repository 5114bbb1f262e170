// Storage: the door to one home directory. Paths are relative to it, '/'-separated, never "..".
// Calls block: large ones are made from a Worker. A call either took effect whole or not at all.
#pragma once

#include "grapevine/base/bytes.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct sqlite3;

namespace grapevine {

// An open SQLite database; closes on destruction. Used by one thread.
class Database {
 public:
  virtual ~Database() = default;
  [[nodiscard]] virtual sqlite3* handle() = 0;
};

class Storage {
 public:
  virtual ~Storage() = default;
  // Errc::not_found; Errc::oversize names a file above `bytes_max`, and nothing is taken for it.
  [[nodiscard]] virtual Result<Bytes> read(std::string_view path, std::uint64_t bytes_max) = 0;
  // Written beside, fsynced, renamed over, folder fsynced: after a crash the old or the new
  // content.
  virtual Result<> write_atomic(std::string_view path, ByteView content, bool secret = false) = 0;
  // Like write_atomic for several files that must appear together: a folder, renamed into place
  // last.
  struct File {
    std::string name;
    ByteView content;
  };
  virtual Result<> write_folder(std::string_view path, std::span<File const> files) = 0;
  virtual Result<> remove(std::string_view path) = 0;  // file or folder; absent is fine
  virtual Result<> rename(std::string_view from, std::string_view to) = 0;
  [[nodiscard]] virtual Result<std::vector<std::string>> list(
      std::string_view folder) = 0;  // sorted names
  [[nodiscard]] virtual bool exists(std::string_view path) = 0;
  [[nodiscard]] virtual Result<std::uint64_t> free_bytes() = 0;
  // Opened with WAL and checked; Errc::database_corrupt when it does not open or fails its check.
  [[nodiscard]] virtual Result<std::unique_ptr<Database>> open_database(std::string_view path) = 0;
  [[nodiscard]] virtual std::string describe(std::string_view path) const = 0;  // for messages
};

}  // namespace grapevine
