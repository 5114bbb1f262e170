#include "grapevine/runtime/durable_storage.hpp"

#include "grapevine/base/assert.hpp"

#include <algorithm>

namespace grapevine {
namespace {

constexpr std::string_view partial_suffix = ".partial";  // on its way in or out; never listed

// Paths are made by our own code, never by a peer.
std::string checked(std::string_view path) {
  ASSERT(!path.empty());
  ASSERT(path.front() != '/');
  ASSERT(("/" + std::string(path) + "/").find("/../") == std::string::npos);
  return std::string(path);
}

std::string parent_of(std::string_view path) {
  auto const slash = path.rfind('/');
  return slash == std::string_view::npos ? "." : std::string(path.substr(0, slash));
}

std::string partial_of(std::string const& path) { return path + std::string(partial_suffix); }

}  // namespace

Result<> DurableStorage::make_folders(std::string const& path) {
  for (std::size_t slash = 0; slash != std::string::npos && path != ".";) {
    slash = path.find('/', slash + 1);
    auto const folder = path.substr(0, slash);
    if (disk_.exists(folder)) continue;
    TRY(disk_.make_folder(folder));
    TRY(disk_.sync_folder(parent_of(folder)));
  }
  return {};
}

Result<> DurableStorage::rename_synced(std::string const& from, std::string const& to) {
  TRY(disk_.rename(from, to));
  TRY(disk_.sync_folder(parent_of(to)));
  if (parent_of(from) == parent_of(to)) return {};
  return disk_.sync_folder(parent_of(from));
}

Result<Bytes> DurableStorage::read(std::string_view path, std::uint64_t bytes_max) {
  return disk_.read(checked(path), bytes_max);
}

Result<> DurableStorage::write_atomic(std::string_view path, ByteView content, bool secret) {
  auto const target = checked(path);
  auto const partial = partial_of(target);
  TRY(make_folders(parent_of(target)));
  auto done = disk_.write_synced(partial, content, secret);
  if (done) done = rename_synced(partial, target);
  if (!done) (void)disk_.remove_tree(partial);
  return done;
}

Result<> DurableStorage::write_folder(std::string_view path, std::span<File const> files) {
  auto const target = checked(path);
  auto const partial = partial_of(target);
  TRY(disk_.remove_tree(partial));
  TRY(make_folders(partial));
  Result<> done;
  for (auto const& file : files)
    if (done) done = disk_.write_synced(partial + "/" + checked(file.name), file.content, false);
  if (done) done = disk_.sync_folder(partial);
  if (done && disk_.exists(target)) {
    // A folder cannot be renamed over a full one: the two change places, then the old one goes.
    done = disk_.exchange(partial, target);
    if (done) done = disk_.sync_folder(parent_of(target));
  } else if (done) {
    done = rename_synced(partial, target);
  }
  (void)disk_.remove_tree(partial);
  return done;
}

Result<> DurableStorage::remove(std::string_view path) {
  auto const target = checked(path);
  auto const partial = partial_of(target);
  TRY(disk_.remove_tree(partial));
  if (!disk_.exists(target)) return {};
  // Renamed away first: a folder is gone whole or not at all.
  TRY(rename_synced(target, partial));
  (void)disk_.remove_tree(partial);  // what is left of it is never seen
  return {};
}

Result<> DurableStorage::rename(std::string_view from, std::string_view to) {
  auto const target = checked(to);
  TRY(make_folders(parent_of(target)));
  return rename_synced(checked(from), target);
}

Result<std::vector<std::string>> DurableStorage::list(std::string_view folder) {
  TRY_ASSIGN(auto names, disk_.list(checked(folder)));
  std::erase_if(names, [](std::string const& name) { return name.ends_with(partial_suffix); });
  std::ranges::sort(names);
  return names;
}

bool DurableStorage::exists(std::string_view path) { return disk_.exists(checked(path)); }

Result<std::uint64_t> DurableStorage::free_bytes() { return disk_.free_bytes(); }

Result<std::unique_ptr<Database>> DurableStorage::open_database(std::string_view path) {
  auto const target = checked(path);
  TRY(make_folders(parent_of(target)));
  return disk_.open_database(target);
}

std::string DurableStorage::describe(std::string_view path) const { return disk_.describe(path); }

}  // namespace grapevine
