// Opens a SQLite file the way every database of a peer is opened: write-ahead log, every commit on
// disk before it returns, and checked before it is used.
#pragma once

#include "grapevine/runtime/storage.hpp"

namespace grapevine {

// `vfs`: a SQLite VFS by name, or null for the system's files. Errc::database_corrupt, disk_full,
// not_writable, io_failed.
Result<std::unique_ptr<Database>> open_sqlite(std::string const& file, char const* vfs);

}  // namespace grapevine
