#include "app/host_command.hpp"

#include "app/command_line.hpp"
#include "app/home.hpp"
#include "app/host_shell.hpp"
#include "app/temporary_folder.hpp"
#include "grapevine/base/log.hpp"
#include "grapevine/node/identity_file.hpp"
#include "grapevine/runtime/os_random.hpp"
#include "grapevine/runtime/runtime.hpp"

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <optional>

namespace grapevine {
namespace {

void print_line(std::string const& line) {
  fmt::print("{}\n", line);
  std::fflush(stdout);
}

Awaitable<> run_shell(HostShell& shell, std::vector<std::string> topics, bool serve,
                      Result<>& started) {
  started = shell.start(topics);
  if (started) co_await shell.run(serve);
  co_await shell.leave();
}

int run_host(Storage& storage, Identity identity, HostOptions options,
             std::vector<std::string> const& topics) {
  Runtime runtime(storage);
  bool const serve = !options.listen.empty();
  Result<> started;
  {
    HostShell shell(runtime.doors(), std::move(identity), std::move(options), print_line);
    runtime.on_stop_signal([&shell](int) { shell.stop(); });
    runtime.run(run_shell(shell, topics, serve, started));
  }
  if (!started) return end_with(started.error());
  auto const signal = runtime.stopped_by();
  return signal ? 128 + *signal : 0;
}

}  // namespace

int host_command(int argc, char** argv) {
  CLI::App app{
      "A bare libp2p host: commands in, JSON lines out. One command a line, run at once; `@TAG ` "
      "before\n"
      "it comes back in its answer. End of input or `quit` ends it.\n\n"
      "  listen [ADDRESS]     dial ADDRESS          close PEER     peers\n"
      "  id PEER              ping PEER [N]         unknown PEER   (a protocol nobody has)\n"
      "  sub TOPIC            pub TOPIC [HEX]       topicpeers TOPIC\n"
      "  perf PEER UP DOWN    perfpar PEER STREAMS UP DOWN\n"
      "  streams PEER N       handshakes ADDRESS N",
      "grapevine host"};
  std::string home;
  std::vector<std::string> listen, topics;
  HostOptions options;
  bool verbose = false;
  app.add_option("--home", home, "home directory whose identity it takes; default: a new one");
  app.add_option("--listen", listen, "address to listen on, like /ip4/0.0.0.0/tcp/4001");
  app.add_option("--topic", topics, "gossip topic to subscribe to");
  app.add_flag("--perf", options.perf, "serve /perf/1.0.0");
  app.add_flag("--verbose", verbose, "log what happens to standard error");
  if (auto const code = parse_arguments(app, argc, argv)) return *code;
  set_log_level(verbose ? LogLevel::debug : LogLevel::warn);
  auto const addresses = parse_addresses("--listen", listen);
  if (!addresses) return end_with(addresses.error());
  options.listen = *addresses;

  std::optional<TemporaryFolder> temporary;  // for a host that was given no home
  if (home.empty()) {
    auto made = TemporaryFolder::make("host");
    if (!made) return end_with(made.error());
    home = temporary.emplace(std::move(*made)).path();
  }
  auto const storage = open_home(home);
  if (!storage) return end_with(storage.error());
  OsRandom random;
  auto const identity = load_or_create_identity(**storage, random);
  if (!identity) return end_with(identity.error());
  return run_host(**storage, *identity, std::move(options), topics);
}

}  // namespace grapevine
