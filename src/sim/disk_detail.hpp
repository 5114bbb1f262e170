// SimDisk: a node's disk. Every file has a content that was written and one that was synced, every
// folder likewise its names. A power cut keeps what was synced, a random part of the written
// sectors and a random number of the latest name changes, oldest first, as a journalling file
// system does. It outlives the node's incarnations; files opened before a cut fail after it.
#pragma once

#include "grapevine/base/random.hpp"
#include "grapevine/runtime/disk.hpp"

#include <functional>
#include <map>

namespace grapevine::sim {

class SimDisk final : public Disk {
 public:
  struct Inode {
    bool folder = false;
    Bytes written;
    Bytes synced;
  };
  using InodePtr = std::shared_ptr<Inode>;

  SimDisk(std::string name, std::uint64_t seed);
  ~SimDisk() override;
  SimDisk(SimDisk const&) = delete;

  Result<Bytes> read(std::string const& path, std::uint64_t bytes_max) override;
  Result<> write_synced(std::string const& path, ByteView content, bool secret) override;
  Result<> make_folder(std::string const& path) override;
  Result<> sync_folder(std::string const& path) override;
  Result<> rename(std::string const& from, std::string const& to) override;
  Result<> exchange(std::string const& one, std::string const& two) override;
  Result<> remove_tree(std::string const& path) override;
  Result<std::vector<std::string>> list(std::string const& folder) override;
  bool exists(std::string const& path) override;
  Result<std::uint64_t> free_bytes() override;
  Result<std::unique_ptr<Database>> open_database(std::string const& path) override;
  [[nodiscard]] std::string describe(std::string_view path) const override;

  void power_off();  // nothing is read or written any more
  void power_on();   // with what survived
  void fail_step(std::uint64_t step, Errc errc);
  void cut_at_step(std::uint64_t step, std::function<void()> cut);
  void set_full(bool full) { full_ = full; }
  void on_step(std::function<void(std::uint64_t)> listener) { listener_ = std::move(listener); }
  [[nodiscard]] std::uint64_t steps() const { return steps_; }

  // For the SQLite file system below.
  [[nodiscard]] std::uint64_t epoch() const { return epoch_; }  // grows with every cut
  [[nodiscard]] InodePtr find(std::string const& path) const;
  InodePtr create(std::string const& path);
  void sync_all_names();
  Result<> step(std::string_view path, std::size_t bytes = 0);

 private:
  using Names = std::map<std::string, InodePtr, std::less<>>;
  void changed();

  std::string name_;
  SeededRandom random_;
  Names names_;
  Names synced_names_;
  std::vector<Names> changes_;  // what names_ was after each change since the last sync
  bool off_ = false;
  bool full_ = false;
  std::uint64_t epoch_ = 0;
  std::uint64_t steps_ = 0;
  std::uint64_t fail_at_ = 0;
  Errc fail_with_ = Errc::io_failed;
  std::uint64_t cut_at_ = 0;
  std::function<void()> cut_;
  std::function<void(std::uint64_t)> listener_;
  struct Vfs;
  std::unique_ptr<Vfs> vfs_;
};

}  // namespace grapevine::sim
