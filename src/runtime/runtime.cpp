#include "grapevine/runtime/runtime.hpp"

#include "grapevine/base/limits.hpp"
#include "grapevine/base/log.hpp"
#include "grapevine/runtime/os_random.hpp"
#include "grapevine/runtime/steady_clock.hpp"
#include "grapevine/runtime/tcp_network.hpp"
#include "grapevine/runtime/thread_worker.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include <csignal>
#include <cstdlib>

namespace grapevine {

namespace asio = boost::asio;

struct Runtime::State {
  explicit State(Storage& home) : storage(home) {}

  asio::io_context loop{1};  // one thread runs it; others only post
  SteadyClock clock;
  OsRandom random;
  TcpNetwork network{loop.get_executor()};
  Storage& storage;
  ThreadWorker train{"gv-train", limits::worker_jobs_max};
  ThreadWorker heavy{"gv-heavy", limits::worker_jobs_max};
  asio::signal_set signals{loop};
  std::function<void(int)> on_stop;
  std::optional<int> stopped_by;
  TaskGroup tasks{loop.get_executor()};

  void await_signal() {
    auto received = [this](boost::system::error_code error, int signal) {
      if (error) return;
      if (stopped_by) std::_Exit(128 + signal);
      stopped_by = signal;
      await_signal();
      if (on_stop) on_stop(signal);
    };
    signals.async_wait(std::move(received));
  }

  // A pending wait for a signal would keep the loop from running dry.
  Awaitable<> run_main(Awaitable<> main) {
    co_await std::move(main);
    signals.cancel();
  }
};

Runtime::Runtime(Storage& storage) : state_(std::make_unique<State>(storage)) {}
Runtime::~Runtime() = default;

Doors Runtime::doors() {
  auto& state = *state_;
  return {executor(),    state.clock, state.random, state.network,
          state.storage, state.train, state.heavy};
}

Executor Runtime::executor() { return state_->loop.get_executor(); }

void Runtime::on_stop_signal(std::function<void(int)> stop) {
  state_->on_stop = std::move(stop);
  if (state_->on_stop) {
    state_->signals.add(SIGINT);
    state_->signals.add(SIGTERM);
  }
}

std::optional<int> Runtime::stopped_by() const { return state_->stopped_by; }

void Runtime::run(Awaitable<> main) {
  state_->await_signal();
  state_->tasks.spawn(state_->run_main(std::move(main)));
  state_->loop.restart();
  state_->loop.run();
}

}  // namespace grapevine
