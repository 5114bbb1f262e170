// Resources: what this process takes from its machine, in bytes, counts and seconds. Read from
// /proc and the home directory; reading walks the home, so it belongs on a Worker, never on the
// loop.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace grapevine {

struct Resources {
  std::uint64_t rss_bytes = 0;
  std::optional<std::uint64_t> vram_bytes;  // nothing where it is not measured
  std::uint64_t open_fds = 0;
  std::uint64_t disk_bytes = 0;  // of the files in the home
  double cpu_train_s = 0;        // processor time of the running threads that train …
  double cpu_node_s = 0;         // … and of all others: what taking part costs
};

// What cannot be read counts as 0.
[[nodiscard]] Resources read_resources(std::string const& home);

}  // namespace grapevine
