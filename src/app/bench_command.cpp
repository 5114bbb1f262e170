// `grapevine bench NAME`: hands on to the measurement of that name.

#include "app/bench_codec_command.hpp"
#include "app/bench_consensus_command.hpp"
#include "app/bench_convergence_command.hpp"
#include "app/bench_mixing_command.hpp"
#include "app/bench_train_command.hpp"
#include "app/bench_utilization_command.hpp"
#include "app/command_line.hpp"
#include "app/commands.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace grapevine {

namespace {

struct Bench {
  char const* name;
  char const* text;
  int (*run)(int argc, char** argv);
};

constexpr std::array benches{
    Bench{"codec", "encoding and decoding of tensors beside memcpy", bench_codec_command},
    Bench{"consensus", "how far apart the peers are, for each way of mixing",
          bench_consensus_command},
    Bench{"convergence", "what a swarm learns, for each way of mixing", bench_convergence_command},
    Bench{"mixing", "time and bytes of averaging over processes on this machine",
          bench_mixing_command},
    Bench{"train", "tokens a second of a training step", bench_train_command},
    Bench{"utilization", "which part of the time a swarm trains, for each way of mixing",
          bench_utilization_command},
};

}  // namespace

int bench_command(int argc, char** argv) {
  std::string_view const name = argc > 1 ? argv[1] : "--help";
  auto const* found = std::ranges::find(benches, name, &Bench::name);
  if (found != benches.end()) return found->run(argc - 1, argv + 1);
  if (name != "--help" && name != "-h")
    return end_with_usage(
        fmt::format("there is no measurement {}; see grapevine bench --help", name));
  fmt::print("Usage: grapevine bench NAME [OPTIONS]\n\n");
  for (auto const& bench : benches) fmt::print("  {:<11} {}\n", bench.name, bench.text);
  return 0;
}

}  // namespace grapevine
