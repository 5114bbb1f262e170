#include "grapevine/runtime/file_storage.hpp"

#include "grapevine/base/assert.hpp"
#include "grapevine/runtime/sqlite_database.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

namespace grapevine {
namespace {

constexpr std::string_view partial_suffix = ".partial";  // on its way in or out; never listed

Errc to_errc(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return Errc::not_found;
    case ENOSPC:
    case EDQUOT:
      return Errc::disk_full;
    case EACCES:
    case EPERM:
    case EROFS:
      return Errc::not_writable;
    default:
      return Errc::io_failed;
  }
}

tl::unexpected<Error> failure(int error, std::string const& thing) {
  return fail(to_errc(error), thing + ": " + std::system_category().message(error));
}

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor const&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  [[nodiscard]] int get() const { return number_; }
  [[nodiscard]] bool ok() const { return number_ >= 0; }
  int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

// Paths are made by our own code, never by a peer.
void check_path(std::string_view path) {
  ASSERT(!path.empty());
  ASSERT(path.front() != '/');
  ASSERT(("/" + std::string(path) + "/").find("/../") == std::string::npos);
}

std::string parent_of(std::string_view path) {
  auto const slash = path.rfind('/');
  return slash == std::string_view::npos ? "." : std::string(path.substr(0, slash));
}

std::string partial_of(std::string_view path) {
  return std::string(path) + std::string(partial_suffix);
}

// The calls below return 0 or errno.
int sync_folder(int at, std::string const& path) {
  Descriptor const folder(::openat(at, path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.ok() || ::fsync(folder.get()) != 0) return errno;
  return 0;
}

int make_folders(int at, std::string const& path) {
  for (std::size_t slash = 0; slash != std::string::npos;) {
    slash = path.find('/', slash + 1);
    auto const folder = path.substr(0, slash);
    if (::mkdirat(at, folder.c_str(), 0700) == 0) {
      if (int const error = sync_folder(at, parent_of(folder))) return error;
    } else if (errno != EEXIST) {
      return errno;
    }
  }
  return 0;
}

int write_whole(int at, std::string const& path, ByteView content, mode_t mode) {
  int const flags = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC;
  Descriptor file(::openat(at, path.c_str(), flags, mode));
  if (!file.ok()) return errno;
  if (::fchmod(file.get(), mode) != 0) return errno;  // a leftover may have had another
  while (!content.empty()) {
    ssize_t const wrote = ::write(file.get(), content.data(), content.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return errno;
    content = content.subspan(static_cast<std::size_t>(wrote));
  }
  if (::fsync(file.get()) != 0) return errno;
  // close() is where some network file systems report a full disk.
  return ::close(file.release()) == 0 ? 0 : errno;
}

int rename_synced(int at, std::string const& from, std::string const& to) {
  if (::renameat(at, from.c_str(), at, to.c_str()) != 0) return errno;
  if (int const error = sync_folder(at, parent_of(to))) return error;
  return parent_of(from) == parent_of(to) ? 0 : sync_folder(at, parent_of(from));
}

// A folder cannot be renamed over a full one; the two change places, and then the old one goes.
int replace_folder(int at, std::string const& from, std::string const& to) {
  if (::renameat2(at, from.c_str(), at, to.c_str(), RENAME_EXCHANGE) == 0)
    return sync_folder(at, parent_of(to));
  return errno == ENOENT ? rename_synced(at, from, to) : errno;
}

Result<Bytes> read_whole(int file, std::string const& thing) {
  struct stat about{};
  if (::fstat(file, &about) != 0) return failure(errno, thing);
  Bytes content(static_cast<std::size_t>(about.st_size));
  std::size_t done = 0;
  while (done < content.size()) {
    ssize_t const got = ::read(file, content.data() + done, content.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(Errc::io_failed, thing + ": " + std::system_category().message(errno));
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  content.resize(done);
  return content;
}

Result<int> take_lock(int folder, std::string const& thing) {
  Descriptor lock(::openat(folder, "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock.ok()) return failure(errno, thing);
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return failure(errno, thing);
    auto const holder = read_whole(lock.get(), thing);
    auto const pid = holder ? std::string(as_text(*holder)) : std::string();
    return fail(Errc::home_in_use, thing + " is held by process " + (pid.empty() ? "?" : pid));
  }
  auto const pid = std::to_string(::getpid());
  if (::ftruncate(lock.get(), 0) != 0 ||
      ::pwrite(lock.get(), pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size()))
    return failure(errno, thing);
  return lock.release();
}

}  // namespace

Result<std::unique_ptr<FileStorage>> FileStorage::open(std::string home) {
  std::error_code error;
  auto const absolute = std::filesystem::absolute(home, error).lexically_normal().string();
  std::filesystem::create_directories(std::filesystem::path(absolute).parent_path(), error);
  if (::mkdir(absolute.c_str(), 0700) != 0 && errno != EEXIST) return failure(errno, absolute);
  Descriptor folder(::open(absolute.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.ok()) return failure(errno, absolute);
  TRY_ASSIGN(int const lock, take_lock(folder.get(), absolute));
  return std::unique_ptr<FileStorage>(new FileStorage(absolute, folder.release(), lock));
}

FileStorage::~FileStorage() {
  ::close(lock_);  // gives the lock back; the file stays, or a third process could lock another one
  ::close(folder_);
}

Result<Bytes> FileStorage::read(std::string_view path) {
  check_path(path);
  Descriptor const file(::openat(folder_, std::string(path).c_str(), O_RDONLY | O_CLOEXEC));
  // Not failure(): what cannot be read is not "not writable".
  if (!file.ok() && errno != ENOENT && errno != ENOTDIR)
    return fail(Errc::io_failed, describe(path) + ": " + std::system_category().message(errno));
  if (!file.ok()) return failure(errno, describe(path));
  return read_whole(file.get(), describe(path));
}

Result<> FileStorage::write_atomic(std::string_view path, ByteView content, bool secret) {
  check_path(path);
  auto const partial = partial_of(path);
  int error = make_folders(folder_, parent_of(path));
  if (!error) error = write_whole(folder_, partial, content, secret ? 0600 : 0644);
  if (!error) error = rename_synced(folder_, partial, std::string(path));
  if (!error) return {};
  ::unlinkat(folder_, partial.c_str(), 0);
  return failure(error, describe(path));
}

Result<> FileStorage::write_folder(std::string_view path, std::span<File const> files) {
  check_path(path);
  auto const partial = partial_of(path);
  auto const partial_path = std::filesystem::path(describe(partial));
  std::error_code ignored;
  std::filesystem::remove_all(partial_path, ignored);
  int error = make_folders(folder_, partial);
  for (auto const& file : files) {
    check_path(file.name);
    if (!error) error = write_whole(folder_, partial + "/" + file.name, file.content, 0644);
  }
  if (!error) error = sync_folder(folder_, partial);
  if (!error) error = replace_folder(folder_, partial, std::string(path));
  std::filesystem::remove_all(partial_path, ignored);
  if (error) return failure(error, describe(path));
  return {};
}

Result<> FileStorage::remove(std::string_view path) {
  check_path(path);
  auto const partial = partial_of(path);
  std::error_code ignored;
  std::filesystem::remove_all(describe(partial), ignored);
  // Renamed away first: a folder is gone whole or not at all.
  int const error = rename_synced(folder_, std::string(path), partial);
  if (error == ENOENT || error == ENOTDIR) return {};
  if (error) return failure(error, describe(path));
  std::filesystem::remove_all(describe(partial), ignored);
  return {};
}

Result<> FileStorage::rename(std::string_view from, std::string_view to) {
  check_path(from);
  check_path(to);
  int error = make_folders(folder_, parent_of(to));
  if (!error) error = rename_synced(folder_, std::string(from), std::string(to));
  if (error) return failure(error, describe(from) + " to " + std::string(to));
  return {};
}

Result<std::vector<std::string>> FileStorage::list(std::string_view folder) {
  check_path(folder);
  std::error_code error;
  std::filesystem::directory_iterator it(describe(folder), error);
  if (error) return failure(error.value(), describe(folder));
  std::vector<std::string> names;
  for (; it != std::filesystem::directory_iterator(); it.increment(error)) {
    if (error) return failure(error.value(), describe(folder));
    auto name = it->path().filename().string();
    if (!name.ends_with(partial_suffix)) names.push_back(std::move(name));
  }
  std::ranges::sort(names);
  return names;
}

bool FileStorage::exists(std::string_view path) {
  check_path(path);
  return ::faccessat(folder_, std::string(path).c_str(), F_OK, 0) == 0;
}

Result<std::uint64_t> FileStorage::free_bytes() {
  struct statvfs about{};
  if (::fstatvfs(folder_, &about) != 0) return failure(errno, home_);
  return std::uint64_t{about.f_bavail} * about.f_frsize;
}

Result<std::unique_ptr<Database>> FileStorage::open_database(std::string_view path) {
  check_path(path);
  if (int const error = make_folders(folder_, parent_of(path)))
    return failure(error, describe(path));
  return open_sqlite(describe(path), nullptr);
}

std::string FileStorage::describe(std::string_view path) const {
  return home_ + "/" + std::string(path);
}

}  // namespace grapevine
