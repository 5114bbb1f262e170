#include "grapevine/status/resources.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>

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

// The worker that trains, and the threads that its backend starts: a thread inherits the name of
// the one that started it, and autograd names its own.
bool trains(std::string_view thread) {
  return thread.starts_with("gv-train") || thread.starts_with("pt_autograd");
}

// Adds one thread's processor time: /proc/PID/task/TID/stat is "TID (name) state …", with the user
// and system time in clock ticks as its 14th and 15th field.
void add_thread(fs::path const& task, Resources& into) {
  std::ifstream file(task / "stat");
  std::string const line{std::istreambuf_iterator<char>(file), {}};
  auto const open = line.find('(');
  auto const close = line.rfind(')');
  if (open == std::string::npos || close == std::string::npos) return;
  std::istringstream fields(line.substr(close + 1));
  std::string skipped;
  for (int field = 3; field < 14; ++field) fields >> skipped;
  std::uint64_t user = 0, system = 0;
  fields >> user >> system;
  double const seconds =
      static_cast<double>(user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
  bool const train = trains(std::string_view(line).substr(open + 1, close - open - 1));
  (train ? into.cpu_train_s : into.cpu_node_s) += seconds;
}

void add_threads(Resources& into) {
  std::error_code error;
  for (fs::directory_iterator it("/proc/self/task", error), end; !error && it != end;
       it.increment(error))
    add_thread(it->path(), into);
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
  Resources read{.rss_bytes = resident_bytes(),
                 .vram_bytes = std::nullopt,
                 .open_fds = open_descriptors(),
                 .disk_bytes = bytes_below(home)};
  add_threads(read);
  return read;
}

}  // namespace grapevine
