#include "grapevine/status/resources.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace grapevine {

namespace fs = std::filesystem;

namespace {

std::uint64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::uint64_t total = 0, resident = 0;
  statm >> total >> resident;
  return statm ? resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) : 0;
}

std::uint64_t open_descriptors() {
  std::uint64_t count = 0;
  std::error_code error;
  for (fs::directory_iterator it("/proc/self/fd", error), end; !error && it != end;
       it.increment(error))
    ++count;
  return count > 0 ? count - 1 : 0;  // the one that lists them
}

// Files come and go while we walk: what is gone by then counts as nothing.
std::uint64_t bytes_below(std::string const& folder) {
  std::uint64_t bytes = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    std::error_code gone;
    if (!it->is_regular_file(gone)) continue;
    auto const size = it->file_size(gone);
    if (!gone) bytes += size;
  }
  return bytes;
}

}  // namespace

Resources read_resources(std::string const& home) {
  return {.rss_bytes = resident_bytes(),
          .vram_bytes = std::nullopt,
          .open_fds = open_descriptors(),
          .disk_bytes = bytes_below(home)};
}

}  // namespace grapevine
