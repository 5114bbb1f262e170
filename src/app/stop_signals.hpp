// SIGINT and SIGTERM before a command has its own answer to them.
#pragma once

namespace grapevine {

// From now on they end the program with 128 + their number, as any other stop does.
void end_at_stop_signals();

// While it lives a stop signal waits; released, it comes. Main thread, and those it starts.
class StopSignalHold {
 public:
  StopSignalHold();
  ~StopSignalHold() { release(); }
  StopSignalHold(StopSignalHold&& other) noexcept;
  StopSignalHold& operator=(StopSignalHold&&) = delete;

  void release();

 private:
  bool holds_ = true;
};

}  // namespace grapevine
