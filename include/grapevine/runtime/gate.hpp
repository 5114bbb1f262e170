// Gate: where a coroutine waits until another says that something changed; a condition variable
// for coroutines. Loop thread only. Nothing is remembered: wait in a loop over the condition,
//
//   while (queue_.empty()) co_await gate_.wait();
//
// which loses no wake-up, because nothing runs between the check and the wait.
#pragma once

#include "grapevine/runtime/clock.hpp"

#include <memory>

namespace grapevine {

class Gate {
 public:
  Gate();
  ~Gate();  // nobody may wait any more; allowed right after notify_all()
  Gate(Gate const&) = delete;
  Gate& operator=(Gate const&) = delete;

  // Until the next notify_all(). Cancelled: leaves by operation_aborted.
  Awaitable<> wait();
  // The same, but a cancellation has to wait too (it is seen at the caller's next co_await).
  Awaitable<> wait_uncancellable();
  // Those who wait now run later, never inside this call.
  void notify_all();
  [[nodiscard]] std::size_t waiting() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace grapevine
