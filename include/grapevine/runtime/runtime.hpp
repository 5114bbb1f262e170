// Runtime: the real world. Owns the loop, the real doors (but the Storage) and the two worker
// threads, and runs one main task on the thread that calls run(). Made and destroyed by the
// program.
#pragma once

#include "grapevine/runtime/doors.hpp"

#include <functional>
#include <memory>
#include <optional>

namespace grapevine {

class Runtime {
 public:
  explicit Runtime(Storage& storage);
  ~Runtime();
  Runtime(Runtime const&) = delete;

  [[nodiscard]] Doors doors();
  [[nodiscard]] Executor executor();

  // What to do at the first SIGINT or SIGTERM: ask the main task to end. The second one ends the
  // process at once, with 128 + its number.
  void on_stop_signal(std::function<void(int signal)> stop);
  // The first stop signal, when there was one.
  [[nodiscard]] std::optional<int> stopped_by() const;

  // Runs `main` and whatever it started until nothing is left to do. May be called again.
  void run(Awaitable<> main);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace grapevine
