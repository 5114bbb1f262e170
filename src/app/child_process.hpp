// ChildProcess: this program once more, as a process of its own, with its output in two files. It
// is killed and reaped when the object goes. Main thread only.
#pragma once

#include "grapevine/base/result.hpp"

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace grapevine {

class ChildProcess {
 public:
  // `arguments` come after the program's name. It gets a process group of its own, so that Ctrl-C
  // reaches it through us alone, and ends when we do.
  static Result<ChildProcess> start(std::vector<std::string> arguments,
                                    std::string const& output_path, std::string const& log_path);
  ~ChildProcess();
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&&) = delete;

  void signal(int number);
  // Its exit code once it has ended, 128 + signal when one ended it. Does not wait.
  [[nodiscard]] std::optional<int> exit_code();

 private:
  explicit ChildProcess(pid_t id) : id_(id) {}

  pid_t id_;  // 0: moved from
  std::optional<int> exit_code_;
};

// In such a child: it ends with its parent from now on, however that goes. False when the parent is
// gone already.
[[nodiscard]] bool end_with_parent(int parent);

}  // namespace grapevine
