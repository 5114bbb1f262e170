#include "app/sim_command.hpp"

#include "app/command_line.hpp"
#include "grapevine/base/log.hpp"
#include "grapevine/world/fault_run.hpp"

#include <fmt/core.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <cstdio>

namespace grapevine {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::uint64_t seed = 0;
  std::uint64_t first = 1;
  std::uint64_t seeds = 1;
  bool json = false;
};

Json as_json(std::uint64_t seed, world::FaultRun const& run) {
  return {{"seed", seed},
          {"ok", run.fault.empty()},
          {"fault", run.fault},
          {"rounds", run.rounds},
          {"healed_after_s", run.healed_after_s},
          {"events", run.events},
          {"trace", fmt::format("{:016x}", run.trace)}};
}

std::string verdict(world::FaultRun const& run) {
  if (!run.fault.empty()) return "FAILED: " + run.fault;
  return fmt::format(
      "{} rounds, well again {:.1f} s after the last fault, {} events, trace {:016x}", run.rounds,
      run.healed_after_s, run.events, run.trace);
}

int run(Options const& options) {
  Json list = Json::array();
  std::size_t failed = 0;
  for (auto seed = options.first; seed < options.first + options.seeds; ++seed) {
    auto const run = world::run_with_faults(seed);
    bool const well = run.fault.empty();
    failed += well ? 0 : 1;
    if (options.seeds == 1 || !well) fmt::print("{}", world::draw_scenario(seed).text());
    if (options.seeds == 1 || !well) fmt::print("{}\n", verdict(run));
    if (!well) fmt::print("Repeat it: grapevine sim --seed {}\n", seed);
    std::fflush(stdout);
    if (options.seeds == 1 || !well) list.push_back(as_json(seed, run));
  }
  if (options.seeds > 1) fmt::print("{} seeds, {} failed\n", options.seeds, failed);
  if (options.json) {
    Json const result{
        {"first", options.first}, {"seeds", options.seeds}, {"failed", failed}, {"runs", list}};
    fmt::print("{}\n", result.dump());
  }
  return static_cast<int>(failed == 0 ? ExitCode::done : ExitCode::failed);
}

}  // namespace

int sim_command(int argc, char** argv) {
  CLI::App app{
      "Runs the real node in a simulated world, where machines, links, disks and time are drawn\n"
      "from a seed and break as it says: crashes with torn writes, partitions, bad links, full\n"
      "disks, wrong clocks, failing trainers, hostile peers. One seed is one history, to the last\n"
      "byte, on every machine.\n\n"
      "While faults strike, nothing that a peer shows or records may be wrong; once they are "
      "over,\n"
      "all peers must come together again and go on. The list of faults is printed, and a "
      "verdict;\n"
      "of many seeds, only those that failed.\n\n"
      "  grapevine sim --seed 7                    one history and its faults\n"
      "  grapevine sim --seeds 200 --first 1000    which of these fail",
      "grapevine sim"};
  Options options;
  auto* const seed = app.add_option("--seed", options.seed, "this seed alone");
  app.add_option("--seeds", options.seeds, "so many seeds, one after the other")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{100'000'000}))
      ->capture_default_str()
      ->excludes(seed);
  app.add_option("--first", options.first, "the first of them")
      ->capture_default_str()
      ->excludes(seed);
  app.add_flag("--json", options.json,
               "one JSON object as the last line; `runs` has the seeds that were printed");
  if (auto const code = parse_arguments(app, argc, argv)) return *code;
  if (seed->count() > 0) {
    options.first = options.seed;
    options.seeds = 1;
  }
  set_log_level(LogLevel::off);
  return run(options);
}

}  // namespace grapevine
