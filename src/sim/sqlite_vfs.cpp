#include "sim/sqlite_vfs_detail.hpp"

#include "grapevine/base/assert.hpp"
#include "sim/disk_detail.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>

namespace grapevine::sim {
namespace {

constexpr int path_bytes_max = 512;
constexpr int sector_bytes = 512;

// SQLite owns the memory of it and calls it through the table in `base`.
struct OpenFile {
  sqlite3_file base;
  SimDisk* disk;
  SimDisk::InodePtr inode;
  std::string path;
  std::uint64_t epoch;
  bool delete_on_close;
};

OpenFile& of(sqlite3_file* file) { return *reinterpret_cast<OpenFile*>(file); }
SimDisk& disk_of(sqlite3_vfs* vfs) { return *static_cast<SimDisk*>(vfs->pAppData); }

int to_sqlite(Error const& error, int otherwise) {
  return error.errc() == Errc::disk_full ? SQLITE_FULL : otherwise;
}

// A file that was opened before the power was cut is of a process that is no more.
bool stale(OpenFile const& file) { return file.epoch != file.disk->epoch(); }

int close_file(sqlite3_file* base) {
  auto& file = of(base);
  if (file.delete_on_close && !stale(file)) (void)file.disk->remove_tree(file.path);
  file.~OpenFile();
  return SQLITE_OK;
}

int read_file(sqlite3_file* base, void* into, int count, sqlite3_int64 from) {
  auto& file = of(base);
  if (stale(file)) return SQLITE_IOERR_READ;
  auto const& content = file.inode->written;
  auto const wanted = static_cast<std::size_t>(count);
  auto const begin = std::min(static_cast<std::size_t>(from), content.size());
  auto const got = std::min(wanted, content.size() - begin);
  std::memset(into, 0, wanted);
  if (got > 0) std::memcpy(into, content.data() + begin, got);
  return got == wanted ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
}

int write_file(sqlite3_file* base, void const* bytes, int count, sqlite3_int64 to) {
  auto& file = of(base);
  if (stale(file)) return SQLITE_IOERR_WRITE;
  auto const size = static_cast<std::size_t>(count);
  if (auto done = file.disk->step(file.path, size); !done)
    return to_sqlite(done.error(), SQLITE_IOERR_WRITE);
  auto& content = file.inode->written;
  auto const begin = static_cast<std::size_t>(to);
  if (content.size() < begin + size) content.resize(begin + size);
  std::memcpy(content.data() + begin, bytes, size);
  return SQLITE_OK;
}

int truncate_file(sqlite3_file* base, sqlite3_int64 size) {
  auto& file = of(base);
  if (stale(file) || !file.disk->step(file.path)) return SQLITE_IOERR_TRUNCATE;
  file.inode->written.resize(static_cast<std::size_t>(size));
  return SQLITE_OK;
}

int sync_file(sqlite3_file* base, int) {
  auto& file = of(base);
  if (stale(file)) return SQLITE_IOERR_FSYNC;
  if (auto done = file.disk->step(file.path); !done)
    return to_sqlite(done.error(), SQLITE_IOERR_FSYNC);
  file.inode->synced = file.inode->written;
  file.disk->sync_all_names();  // SQLite syncs the folder of a new file with the file
  return SQLITE_OK;
}

int size_of_file(sqlite3_file* base, sqlite3_int64* size) {
  *size = static_cast<sqlite3_int64>(of(base).inode->written.size());
  return SQLITE_OK;
}

int lock_file(sqlite3_file*, int) { return SQLITE_OK; }
int unlock_file(sqlite3_file*, int) { return SQLITE_OK; }
int check_reserved_lock(sqlite3_file*, int* held) {
  *held = 0;
  return SQLITE_OK;
}
int control_file(sqlite3_file*, int, void*) { return SQLITE_NOTFOUND; }
int sector_size(sqlite3_file*) { return sector_bytes; }
int device_characteristics(sqlite3_file*) { return 0; }

sqlite3_io_methods const& io_methods() {
  static sqlite3_io_methods const methods = [] {
    sqlite3_io_methods made{};
    made.iVersion = 1;
    made.xClose = close_file;
    made.xRead = read_file;
    made.xWrite = write_file;
    made.xTruncate = truncate_file;
    made.xSync = sync_file;
    made.xFileSize = size_of_file;
    made.xLock = lock_file;
    made.xUnlock = unlock_file;
    made.xCheckReservedLock = check_reserved_lock;
    made.xFileControl = control_file;
    made.xSectorSize = sector_size;
    made.xDeviceCharacteristics = device_characteristics;
    return made;
  }();
  return methods;
}

int open_file(sqlite3_vfs* vfs, char const* path, sqlite3_file* base, int flags, int* out_flags) {
  auto& disk = disk_of(vfs);
  base->pMethods = nullptr;
  std::string const name = path == nullptr ? "" : path;
  // Without a name it is a temporary file, which nobody finds again.
  auto inode = name.empty() ? std::make_shared<SimDisk::Inode>() : disk.find(name);
  if (!inode) {
    if ((flags & SQLITE_OPEN_CREATE) == 0) return SQLITE_CANTOPEN;
    if (auto done = disk.step(name, 1); !done) return to_sqlite(done.error(), SQLITE_CANTOPEN);
    inode = disk.create(name);
  }
  bool const delete_on_close = (flags & SQLITE_OPEN_DELETEONCLOSE) != 0 && !name.empty();
  new (base) OpenFile{{&io_methods()}, &disk, inode, name, disk.epoch(), delete_on_close};
  if (out_flags != nullptr) *out_flags = flags;
  return SQLITE_OK;
}

int delete_file(sqlite3_vfs* vfs, char const* path, int sync_folder) {
  auto& disk = disk_of(vfs);
  if (!disk.find(path)) return SQLITE_IOERR_DELETE_NOENT;
  if (!disk.remove_tree(path)) return SQLITE_IOERR_DELETE;
  if (sync_folder != 0 && !disk.sync_folder(".")) return SQLITE_IOERR_DIR_FSYNC;
  return SQLITE_OK;
}

int access_file(sqlite3_vfs* vfs, char const* path, int, int* out) {
  *out = disk_of(vfs).exists(path) ? 1 : 0;
  return SQLITE_OK;
}

int full_path(sqlite3_vfs*, char const* path, int size, char* out) {
  std::string_view const text(path);
  if (text.size() + 1 > static_cast<std::size_t>(size)) return SQLITE_CANTOPEN;
  std::memcpy(out, path, text.size() + 1);
  return SQLITE_OK;
}

int randomness(sqlite3_vfs*, int size, char* out) {
  std::memset(out, 0, static_cast<std::size_t>(size));
  return size;
}
int sleep_us(sqlite3_vfs*, int us) { return us; }
int current_time(sqlite3_vfs*, double* julian_day) {
  *julian_day = 2461041.5;  // 2026-01-01
  return SQLITE_OK;
}

std::atomic<std::uint64_t> names_given{0};

}  // namespace

SqliteVfs::SqliteVfs(SimDisk& disk) : name_("grapevine-sim-" + std::to_string(names_given++)) {
  vfs_.iVersion = 1;
  vfs_.szOsFile = sizeof(OpenFile);
  vfs_.mxPathname = path_bytes_max;
  vfs_.zName = name_.c_str();
  vfs_.pAppData = &disk;
  vfs_.xOpen = open_file;
  vfs_.xDelete = delete_file;
  vfs_.xAccess = access_file;
  vfs_.xFullPathname = full_path;
  vfs_.xRandomness = randomness;
  vfs_.xSleep = sleep_us;
  vfs_.xCurrentTime = current_time;
  ASSERT(::sqlite3_vfs_register(&vfs_, 0) == SQLITE_OK);
}

SqliteVfs::~SqliteVfs() { ::sqlite3_vfs_unregister(&vfs_); }

}  // namespace grapevine::sim
