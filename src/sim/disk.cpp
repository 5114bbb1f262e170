#include "sim/disk_detail.hpp"

#include "sim/sqlite_vfs_detail.hpp"

#include "grapevine/runtime/sqlite_database.hpp"

#include "grapevine/base/assert.hpp"

#include <algorithm>

namespace grapevine::sim {
namespace {

constexpr std::size_t sector_bytes = 512;
constexpr std::uint64_t free_bytes_of_a_disk = 1ull << 40;

bool is_below(std::string_view path, std::string_view folder) {
  return path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/';
}

std::string moved(std::string const& path, std::string const& from, std::string const& to) {
  return to + path.substr(from.size());
}

// What a power cut leaves of a file: of each unsynced sector, the old or the new.
Bytes torn(SimDisk::Inode const& inode, Random& random) {
  if (inode.written == inode.synced) return inode.synced;
  bool const new_size = random.below(2) == 0;
  Bytes left(new_size ? inode.written.size() : inode.synced.size());
  for (std::size_t at = 0; at < left.size(); at += sector_bytes) {
    auto const& from = random.below(2) == 0 ? inode.written : inode.synced;
    auto const end = std::min({at + sector_bytes, left.size(), from.size()});
    for (std::size_t i = at; i < end; ++i) left[i] = from[i];
  }
  return left;
}

}  // namespace

struct SimDisk::Vfs {
  explicit Vfs(SimDisk& disk) : vfs(disk) {}
  SqliteVfs vfs;
};

SimDisk::SimDisk(std::string name, std::uint64_t seed)
    : name_(std::move(name)), random_(seed), vfs_(std::make_unique<Vfs>(*this)) {}
SimDisk::~SimDisk() = default;

Result<> SimDisk::step(std::string_view path, std::size_t bytes) {
  if (off_) return fail(Errc::io_failed, describe(path) + ": the machine is off");
  ++steps_;
  if (steps_ == cut_at_) {
    power_off();
    cut_();
    return fail(Errc::io_failed, describe(path) + ": the power is cut");
  }
  if (listener_) listener_(bytes);
  if (steps_ == fail_at_) return fail(fail_with_, describe(path) + ": a planned failure");
  if (full_ && bytes > 0) return fail(Errc::disk_full, describe(path) + ": no space left");
  return {};
}

void SimDisk::changed() { changes_.push_back(names_); }

SimDisk::InodePtr SimDisk::find(std::string const& path) const {
  auto const found = names_.find(path);
  return found == names_.end() ? nullptr : found->second;
}

SimDisk::InodePtr SimDisk::create(std::string const& path) {
  auto inode = std::make_shared<Inode>();
  names_[path] = inode;
  changed();
  return inode;
}

void SimDisk::sync_all_names() {
  synced_names_ = names_;
  changes_.clear();
}

Result<Bytes> SimDisk::read(std::string const& path, std::uint64_t bytes_max) {
  if (off_) return fail(Errc::io_failed, describe(path) + ": the machine is off");
  auto const inode = find(path);
  if (!inode) return fail(Errc::not_found, describe(path));
  if (inode->folder) return fail(Errc::io_failed, describe(path) + ": is a folder");
  if (inode->written.size() > bytes_max)
    return fail(Errc::oversize, describe(path) + ": " + std::to_string(inode->written.size()) +
                                    " bytes, at most " + std::to_string(bytes_max));
  return inode->written;
}

Result<> SimDisk::write_synced(std::string const& path, ByteView content, bool) {
  TRY(step(path, content.size() + 1));
  auto inode = find(path);
  if (!inode) inode = create(path);
  inode->written.assign(content.begin(), content.end());
  TRY(step(path));
  inode->synced = inode->written;
  return {};
}

Result<> SimDisk::make_folder(std::string const& path) {
  TRY(step(path, 1));
  if (!find(path)) create(path)->folder = true;
  return {};
}

Result<> SimDisk::sync_folder(std::string const& path) {
  TRY(step(path));
  sync_all_names();
  return {};
}

Result<> SimDisk::rename(std::string const& from, std::string const& to) {
  TRY(step(from));
  auto const source = find(from);
  auto const target = find(to);
  if (!source) return fail(Errc::not_found, describe(from));
  if (target && (target->folder || source->folder))
    return fail(Errc::io_failed, describe(to) + ": is in the way");
  Names renamed;
  for (auto const& [path, inode] : names_) {
    if (path == from || is_below(path, from))
      renamed[moved(path, from, to)] = inode;
    else if (path != to)
      renamed[path] = inode;
  }
  names_ = std::move(renamed);
  changed();
  return {};
}

Result<> SimDisk::exchange(std::string const& one, std::string const& two) {
  TRY(step(one));
  if (!find(one) || !find(two)) return fail(Errc::not_found, describe(one));
  Names exchanged;
  for (auto const& [path, inode] : names_) {
    if (path == one || is_below(path, one))
      exchanged[moved(path, one, two)] = inode;
    else if (path == two || is_below(path, two))
      exchanged[moved(path, two, one)] = inode;
    else
      exchanged[path] = inode;
  }
  names_ = std::move(exchanged);
  changed();
  return {};
}

Result<> SimDisk::remove_tree(std::string const& path) {
  TRY(step(path));
  auto const gone = [&path](auto const& entry) {
    return entry.first == path || is_below(entry.first, path);
  };
  if (std::erase_if(names_, gone) > 0) changed();
  return {};
}

Result<std::vector<std::string>> SimDisk::list(std::string const& folder) {
  bool const root = folder == ".";
  auto const inode = find(folder);
  if (off_ || !(root || (inode && inode->folder))) return fail(Errc::not_found, describe(folder));
  std::vector<std::string> names;
  for (auto const& [path, unused] : names_) {
    if (!root && !is_below(path, folder)) continue;
    auto name = root ? path : path.substr(folder.size() + 1);
    if (name.find('/') == std::string::npos) names.push_back(std::move(name));
  }
  return names;
}

bool SimDisk::exists(std::string const& path) { return !off_ && find(path) != nullptr; }

Result<std::uint64_t> SimDisk::free_bytes() { return full_ ? 0 : free_bytes_of_a_disk; }

Result<std::unique_ptr<Database>> SimDisk::open_database(std::string const& path) {
  return open_sqlite(path, vfs_->vfs.name());
}

std::string SimDisk::describe(std::string_view path) const {
  return name_ + ":" + std::string(path);
}

void SimDisk::power_off() {
  if (off_) return;
  off_ = true;
  ++epoch_;
}

void SimDisk::power_on() {
  ASSERT(off_);
  off_ = false;
  auto const kept = random_.below(changes_.size() + 1);
  names_ = kept == 0 ? synced_names_ : changes_[kept - 1];
  for (auto const& [path, inode] : names_) inode->synced = inode->written = torn(*inode, random_);
  sync_all_names();
}

void SimDisk::fail_step(std::uint64_t at, Errc errc) {
  fail_at_ = at;
  fail_with_ = errc;
}

void SimDisk::cut_at_step(std::uint64_t at, std::function<void()> cut) {
  cut_at_ = at;
  cut_ = std::move(cut);
}

}  // namespace grapevine::sim
