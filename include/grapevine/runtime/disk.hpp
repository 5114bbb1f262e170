// Disk: the few file operations that DurableStorage is made of, each a step at which a machine can
// lose its power. The real one is the file system below HOME, the simulated one loses what was not
// synced. Paths are relative, '/'-separated; '.' is the home itself.
#pragma once

#include "grapevine/runtime/storage.hpp"

namespace grapevine {

class Disk {
 public:
  virtual ~Disk() = default;
  virtual Result<Bytes> read(std::string const& path, std::uint64_t bytes_max) = 0;
  // Creates or overwrites; the content is on disk when this returns, the name may not be.
  virtual Result<> write_synced(std::string const& path, ByteView content, bool secret) = 0;
  virtual Result<> make_folder(std::string const& path) = 0;  // one level; there already is fine
  virtual Result<> sync_folder(std::string const& path) = 0;  // the names in it
  virtual Result<> rename(std::string const& from, std::string const& to) = 0;    // replaces files
  virtual Result<> exchange(std::string const& one, std::string const& two) = 0;  // both exist
  virtual Result<> remove_tree(std::string const& path) = 0;                      // absent is fine
  virtual Result<std::vector<std::string>> list(std::string const& folder) = 0;   // any order
  virtual bool exists(std::string const& path) = 0;
  virtual Result<std::uint64_t> free_bytes() = 0;
  virtual Result<std::unique_ptr<Database>> open_database(std::string const& path) = 0;
  virtual std::string describe(std::string_view path) const = 0;
};

}  // namespace grapevine
