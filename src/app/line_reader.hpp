// LineReader: lines of standard input for a coroutine. The blocking wait happens on a worker's
// thread, in slices, so that a cancelled reader ends soon. One reader a process.
#pragma once

#include "grapevine/runtime/worker.hpp"

#include <optional>
#include <string>

namespace grapevine {

class LineReader {
 public:
  explicit LineReader(Worker& worker) : worker_(worker) {}
  // Without its line feed; nothing at the end of the input.
  Awaitable<std::optional<std::string>> next();

 private:
  // Appends what comes next; false at the end of the input or when asked to stop.
  bool fill(std::stop_token const& stop);

  Worker& worker_;
  std::string buffer_;
  bool ended_ = false;
};

}  // namespace grapevine
