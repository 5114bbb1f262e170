// DurableStorage: the promise of Storage (a call took effect whole or not at all, also when the
// power goes) kept with the steps of a Disk: write beside, sync, rename over, sync the folder. One
// code for the real disk and the simulated one, which takes the power away at every step.
#pragma once

#include "grapevine/runtime/disk.hpp"

namespace grapevine {

class DurableStorage : public Storage {
 public:
  explicit DurableStorage(Disk& disk) : disk_(disk) {}

  Result<Bytes> read(std::string_view path, std::uint64_t bytes_max) override;
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
  Result<> make_folders(std::string const& path);
  Result<> rename_synced(std::string const& from, std::string const& to);

  Disk& disk_;
};

}  // namespace grapevine
