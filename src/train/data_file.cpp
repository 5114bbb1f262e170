#include "train/data_file_detail.hpp"

#include "grapevine/base/limits.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

namespace grapevine {
namespace {

namespace fs = std::filesystem;

// Below this a file is read: the kernel allows a process only some 65 000 mappings.
constexpr std::uint64_t mapped_bytes_min = 1024 * 1024;

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(Descriptor const&) = delete;
  Descriptor& operator=(Descriptor const&) = delete;
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

tl::unexpected<Error> unreadable(std::string const& path, int reason) {
  return fail(reason == ENOENT ? Errc::data_missing : Errc::data_unreadable,
              path + ": " + std::generic_category().message(reason));
}

Result<Bytes> read_all(int fd, std::uint64_t size, std::string const& path) {
  Bytes bytes(size);
  std::uint64_t done = 0;
  while (done < size) {
    auto const count = ::read(fd, bytes.data() + done, size - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return unreadable(path, errno);
    if (count == 0) break;  // shortened since its size was asked
    done += static_cast<std::uint64_t>(count);
  }
  bytes.resize(done);
  return bytes;
}

class Walk {
 public:
  Result<FoundFiles> folder(fs::path const& root) {
    struct stat info{};
    if (::stat(root.c_str(), &info) != 0) return unreadable(root.string(), errno);
    seen_.emplace(info.st_dev, info.st_ino);
    TRY(enter(root, 0));
    std::ranges::sort(found_.paths);
    return std::move(found_);
  }

 private:
  Result<> enter(fs::path const& folder, std::size_t depth) {
    std::error_code ec;
    std::vector<fs::path> entries;
    for (auto at = fs::directory_iterator(folder, ec); !ec && at != fs::directory_iterator();
         at.increment(ec))
      entries.push_back(at->path());
    if (ec && depth == 0) return unreadable(folder.string(), ec.value());
    if (ec) found_.notes.push_back(folder.string() + ": " + ec.message());
    // A link's target is taken under the first of its names, so the order matters here already.
    std::ranges::sort(entries);
    for (auto const& entry : entries) {
      TRY(visit(entry, depth));
    }
    return {};
  }

  Result<> visit(fs::path const& entry, std::size_t depth) {
    if (entry.filename().string().starts_with('.')) return {};  // hidden, such as .git
    struct stat info{};
    if (::stat(entry.c_str(), &info) != 0) {
      found_.notes.push_back(entry.string() + ": " + std::generic_category().message(errno));
      return {};
    }
    if (!seen_.emplace(info.st_dev, info.st_ino).second) return {};  // another name of a file
    if (S_ISDIR(info.st_mode)) {
      if (depth + 1 < limits::data_folder_depth_max) return enter(entry, depth + 1);
      found_.notes.push_back(entry.string() + ": too many folders deep");
    } else if (S_ISREG(info.st_mode)) {
      if (found_.paths.size() == limits::data_files_max)
        return fail(Errc::data_unreadable,
                    fmt::format("{}: more than {} files", entry.string(), limits::data_files_max));
      found_.paths.push_back(entry.string());
    }
    return {};
  }

  FoundFiles found_;
  std::set<std::pair<dev_t, ino_t>> seen_;
};

}  // namespace

DataFile::~DataFile() {
  if (mapped_) ::munmap(const_cast<std::uint8_t*>(bytes_.data()), bytes_.size());
}

DataFile::DataFile(DataFile&& other) noexcept
    : path_(std::move(other.path_)),
      owned_(std::move(other.owned_)),
      bytes_(std::exchange(other.bytes_, {})),
      mapped_(std::exchange(other.mapped_, false)) {}

DataFile& DataFile::operator=(DataFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(owned_, other.owned_);
  std::swap(bytes_, other.bytes_);
  std::swap(mapped_, other.mapped_);
  return *this;
}

Result<DataFile> DataFile::open(std::string const& path) {
  // Without O_NONBLOCK the open of a pipe would wait for a writer.
  Descriptor const fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (fd.get() < 0) return unreadable(path, errno);
  struct stat info{};
  if (::fstat(fd.get(), &info) != 0) return unreadable(path, errno);
  if (!S_ISREG(info.st_mode)) return fail(Errc::data_unreadable, path + ": not a regular file");
  auto const size = static_cast<std::uint64_t>(info.st_size);
  DataFile file;
  file.path_ = path;
  if (size < mapped_bytes_min) {
    TRY_ASSIGN(file.owned_, read_all(fd.get(), size, path));
    file.bytes_ = file.owned_;
    return file;
  }
  void* const at = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd.get(), 0);
  if (at == MAP_FAILED) return unreadable(path, errno);
  file.bytes_ = {static_cast<std::uint8_t const*>(at), size};
  file.mapped_ = true;
  return file;
}

DataFile DataFile::from_text(std::string path, std::string_view text) {
  DataFile file;
  file.path_ = std::move(path);
  append(file.owned_, as_bytes(text));
  file.bytes_ = file.owned_;
  return file;
}

bool is_folder(std::string const& path) {
  std::error_code ec;
  return fs::is_directory(path, ec);
}

Result<FoundFiles> find_files(std::string const& folder) { return Walk().folder(folder); }

}  // namespace grapevine
