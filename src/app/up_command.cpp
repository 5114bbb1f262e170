// `grapevine up`: the node, its status page and the report, on one loop until the run ends or a
// signal comes.

#include "app/child_process.hpp"
#include "app/command_line.hpp"
#include "app/commands.hpp"
#include "app/home.hpp"
#include "app/stop_signals.hpp"
#include "app/trainer_factory.hpp"
#include "app/up_options.hpp"
#include "app/up_report.hpp"
#include "grapevine/base/limits.hpp"
#include "grapevine/base/log.hpp"
#include "grapevine/node/identity_file.hpp"
#include "grapevine/runtime/gate.hpp"
#include "grapevine/runtime/os_random.hpp"
#include "grapevine/runtime/runtime.hpp"
#include "grapevine/status/status_server.hpp"
#include "grapevine/train/dataset.hpp"

#include <fmt/core.h>

#include <cstdio>
#include <cstdlib>

namespace grapevine {

namespace {

constexpr Duration step_patience = 3s;

class NodeStatus final : public StatusSource {
 public:
  explicit NodeStatus(Node& node) : node_(node) {}
  [[nodiscard]] Snapshot snapshot() const override { return node_.snapshot(); }
  [[nodiscard]] bool ready() const override { return node_.ready(); }
  Awaitable<Result<std::vector<RoundRecord>>> history(std::uint64_t since) override {
    return node_.history(since);
  }

 private:
  Node& node_;
};

class NodeControl final : public Control {
 public:
  explicit NodeControl(Node& node) : node_(node) {}
  Awaitable<Result<>> carry_out(Command command) override {
    switch (command) {
      case Command::pause:
        co_return co_await node_.pause();
      case Command::resume:
        co_return co_await node_.resume();
      case Command::checkpoint:
        co_return co_await node_.checkpoint();
      case Command::leave:
        node_.stop();
    }
    co_return Result<>{};
  }

 private:
  Node& node_;
};

class Up {
 public:
  // `hold`: until the node itself is told of a stop signal.
  Up(UpOptions options, Storage& storage, StopSignalHold hold)
      : options_(std::move(options)),
        storage_(storage),
        hold_(std::move(hold)),
        runtime_(storage),
        node_(runtime_.doors(), options_.node),
        source_(node_),
        control_(node_),
        report_(node_) {}

  int run() {
    Result<> result;
    runtime_.on_stop_signal([this](int) {
      node_.stop();
      stop_gate_.notify_all();
    });
    hold_.release();
    runtime_.run(store(result));
    auto const signal = runtime_.stopped_by();
    if (!result && !signal) return end_with(result.error(), options_.json);
    report_.finish(options_.json);
    return signal ? 128 + *signal : 0;
  }

 private:
  Awaitable<> store(Result<>& into) { into = co_await take_part(); }

  Awaitable<Result<>> take_part() {
    CO_TRY(start_status());
    TaskGroup tasks(runtime_.executor());
    tasks.spawn(report_.follow());
    tasks.spawn(end_in_time());
    auto result = co_await node_.run();
    tasks.cancel();
    co_await tasks.join();
    co_await server_->stop();
    (void)storage_.remove(status_address_path);
    co_return result;
  }

  // A step of training cannot be interrupted, and may take longer than people wait after Ctrl-C.
  // What matters is on disk by then.
  Awaitable<> end_in_time() {
    auto& clock = runtime_.doors().clock;
    while (!runtime_.stopped_by()) co_await stop_gate_.wait();
    co_await clock.sleep_for(step_patience);
    while (!node_.saved()) co_await clock.sleep_for(100ms);
    (void)storage_.remove(status_address_path);
    report_.finish(options_.json);
    std::_Exit(128 + *runtime_.stopped_by());
  }

  // A port that nobody asked for may be another one; one that was asked for may not.
  Result<> start_status() {
    TRY_ASSIGN(control_token_, load_or_create_control_token(storage_, runtime_.doors().random));
    auto started = start_status_at(options_.status);
    if (!started && started.error().errc() == Errc::port_in_use && !options_.status_chosen)
      started = start_status_at({options_.status.ip, 0});
    TRY(started);
    auto const at = server_->local().text();
    report_.status_page(at);
    return storage_.write_atomic(status_address_path, as_bytes(at));
  }

  Result<> start_status_at(Endpoint at) {
    auto measure = [home = options_.home] { return read_resources(home); };
    server_ = std::make_unique<StatusServer>(runtime_.doors(), source_,
                                             StatusServerOptions{.at = at,
                                                                 .measure = std::move(measure),
                                                                 .control = &control_,
                                                                 .control_token = control_token_});
    return server_->start();
  }

  UpOptions options_;
  Storage& storage_;
  StopSignalHold hold_;
  Runtime runtime_;
  Node node_;
  NodeStatus source_;
  NodeControl control_;
  UpReport report_;
  std::unique_ptr<StatusServer> server_;
  std::string control_token_;
  Gate stop_gate_;
};

// What a person gets wrong is said before anything is loaded, bound or written. The run's own
// context and vocabulary are not known yet: they are checked again once they are.
Result<> check_data(std::string const& path) {
  DatasetOptions any;
  any.path = path;
  any.vocab_size = limits::model_vocab_max;
  any.batch = 1;
  TRY(Dataset::open(any));
  return {};
}

}  // namespace

int up_command(int argc, char** argv) {
  auto parsed = parse_up_options(argc, argv);
  if (auto const* code = std::get_if<int>(&parsed)) return *code;
  auto& options = std::get<UpOptions>(parsed);
  if (options.parent && !end_with_parent(*options.parent)) return 1;
  set_log_level(options.verbose ? LogLevel::debug : LogLevel::warn);

  if (auto const data = check_data(options.data); !data)
    return end_with(data.error(), options.json);
  StopSignalHold hold;  // what is written to the home is written whole
  auto const storage = open_home(options.home);
  if (!storage) return end_with(storage.error(), options.json);
  OsRandom random;
  if (auto const identity = load_or_create_identity(**storage, random); !identity)
    return end_with(identity.error(), options.json);
  options.node.make_trainer = trainer_factory({options.data, options.device, options.threads});
  return Up(std::move(options), **storage, std::move(hold)).run();
}

}  // namespace grapevine
