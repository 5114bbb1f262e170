// SqliteVfs: SQLite's file system on a SimDisk, so that its own journal, sync and recovery are what
// is tested. Without shared memory SQLite keeps a rollback journal instead of a write-ahead log:
// the same promise, that a commit is on disk when it returns.
#pragma once

#include <sqlite3.h>

#include <string>

namespace grapevine::sim {

class SimDisk;

class SqliteVfs {
 public:
  explicit SqliteVfs(SimDisk& disk);
  ~SqliteVfs();
  SqliteVfs(SqliteVfs const&) = delete;
  [[nodiscard]] char const* name() const { return name_.c_str(); }

 private:
  std::string name_;
  sqlite3_vfs vfs_{};
};

}  // namespace grapevine::sim
