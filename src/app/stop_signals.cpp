#include "app/stop_signals.hpp"

#include <unistd.h>

#include <csignal>
#include <utility>

namespace grapevine {
namespace {

sigset_t stop_signals() {
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGINT);
  ::sigaddset(&signals, SIGTERM);
  return signals;
}

void end(int number) { ::_exit(128 + number); }

}  // namespace

void end_at_stop_signals() {
  struct sigaction action{};
  action.sa_handler = end;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

StopSignalHold::StopSignalHold() {
  auto const signals = stop_signals();
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

StopSignalHold::StopSignalHold(StopSignalHold&& other) noexcept
    : holds_(std::exchange(other.holds_, false)) {}

void StopSignalHold::release() {
  if (!std::exchange(holds_, false)) return;
  auto const signals = stop_signals();
  ::pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
}

}  // namespace grapevine
