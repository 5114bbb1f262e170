#include "grapevine/runtime/file_storage.hpp"

#include "grapevine/base/limits.hpp"
#include "grapevine/runtime/sqlite_database.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

namespace grapevine {
namespace {

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

// Returns 0 or errno.
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

Result<Bytes> read_whole(int file, std::string const& thing, std::uint64_t bytes_max) {
  struct stat about{};
  if (::fstat(file, &about) != 0) return failure(errno, thing);
  if (!S_ISREG(about.st_mode)) return fail(Errc::io_failed, thing + ": not a regular file");
  auto const size = static_cast<std::size_t>(about.st_size);
  if (size > bytes_max)
    return fail(Errc::oversize, thing + ": " + std::to_string(size) + " bytes, at most " +
                                    std::to_string(bytes_max));
  Bytes content(size);
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
    auto const holder = read_whole(lock.get(), thing, limits::small_text_file_bytes_max);
    auto const pid = holder ? std::string(as_text(*holder)) : std::string();
    return fail(Errc::home_in_use, thing + " is held by process " + (pid.empty() ? "?" : pid));
  }
  auto const pid = std::to_string(::getpid());
  if (::ftruncate(lock.get(), 0) != 0 ||
      ::pwrite(lock.get(), pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size()))
    return failure(errno, thing);
  return lock.release();
}

class HomeDisk final : public Disk {
 public:
  HomeDisk(std::string home, int folder, int lock)
      : home_(std::move(home)), folder_(folder), lock_(lock) {}

  Result<Bytes> read(std::string const& path, std::uint64_t bytes_max) override {
    int const flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;  // a pipe must not hold us up
    Descriptor const file(::openat(folder_.get(), path.c_str(), flags));
    if (file.ok()) return read_whole(file.get(), describe(path), bytes_max);
    if (errno == ENOENT || errno == ENOTDIR) return failure(errno, describe(path));
    // Not failure(): what cannot be read is not "not writable".
    return fail(Errc::io_failed, describe(path) + ": " + std::system_category().message(errno));
  }

  Result<> write_synced(std::string const& path, ByteView content, bool secret) override {
    int const error = write_whole(folder_.get(), path, content, secret ? 0600 : 0644);
    return outcome(error, path);
  }

  Result<> make_folder(std::string const& path) override {
    int const made = ::mkdirat(folder_.get(), path.c_str(), 0700);
    return outcome(made == 0 || errno == EEXIST ? 0 : errno, path);
  }

  Result<> sync_folder(std::string const& path) override {
    int const flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
    Descriptor const folder(::openat(folder_.get(), path.c_str(), flags));
    return outcome(folder.ok() && ::fsync(folder.get()) == 0 ? 0 : errno, path);
  }

  Result<> rename(std::string const& from, std::string const& to) override {
    return rename_with(from, to, 0);
  }
  Result<> exchange(std::string const& one, std::string const& two) override {
    return rename_with(one, two, RENAME_EXCHANGE);
  }

  Result<> remove_tree(std::string const& path) override {
    std::error_code error;
    std::filesystem::remove_all(describe(path), error);
    return outcome(error.value(), path);
  }

  Result<std::vector<std::string>> list(std::string const& folder) override {
    std::error_code error;
    std::vector<std::string> names;
    std::filesystem::directory_iterator it(describe(folder), error);
    for (; !error && it != std::filesystem::directory_iterator(); it.increment(error))
      names.push_back(it->path().filename().string());
    if (error) return failure(error.value(), describe(folder));
    return names;
  }

  bool exists(std::string const& path) override {
    return ::faccessat(folder_.get(), path.c_str(), F_OK, 0) == 0;
  }

  Result<std::uint64_t> free_bytes() override {
    struct statvfs about{};
    if (::fstatvfs(folder_.get(), &about) != 0) return failure(errno, home_);
    return std::uint64_t{about.f_bavail} * about.f_frsize;
  }

  Result<std::unique_ptr<Database>> open_database(std::string const& path) override {
    return open_sqlite(describe(path), nullptr);
  }

  [[nodiscard]] std::string describe(std::string_view path) const override {
    return home_ + "/" + std::string(path);
  }

 private:
  Result<> outcome(int error, std::string const& path) const {
    if (error) return failure(error, describe(path));
    return {};
  }

  Result<> rename_with(std::string const& from, std::string const& to, unsigned flags) {
    int const at = folder_.get();
    if (::renameat2(at, from.c_str(), at, to.c_str(), flags) == 0) return {};
    return failure(errno, describe(from) + " to " + to);
  }

  std::string home_;
  Descriptor folder_;
  Descriptor lock_;  // the file itself stays: whoever removed it could let two in
};

}  // namespace

Result<std::unique_ptr<FileStorage>> FileStorage::open(std::string home) {
  std::error_code error;
  auto const absolute = std::filesystem::absolute(home, error).lexically_normal().string();
  std::filesystem::create_directories(std::filesystem::path(absolute).parent_path(), error);
  if (::mkdir(absolute.c_str(), 0700) != 0 && errno != EEXIST) {
    if (to_errc(errno) != Errc::not_found) return failure(errno, absolute);
    return fail(Errc::not_writable, absolute + ": no folder can be made there");
  }
  Descriptor folder(::open(absolute.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.ok() && errno == ENOTDIR)
    return fail(Errc::not_a_home, absolute + ": is a file, not a folder");
  if (!folder.ok()) return failure(errno, absolute);
  TRY_ASSIGN(int const lock, take_lock(folder.get(), absolute));
  auto disk = std::make_unique<HomeDisk>(absolute, folder.release(), lock);
  return std::unique_ptr<FileStorage>(new FileStorage(std::move(disk)));
}

}  // namespace grapevine
