// Seeds of the simulated world with faults: each draws its own swarm and what goes wrong in it. A
// failing seed is repeated with
//   sim_faults --seed S --log
#include "grapevine/world/fault_run.hpp"

#include "grapevine/base/log.hpp"

#include <fmt/core.h>

#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string_view>

using namespace grapevine;

namespace {

struct Arguments {
  std::vector<std::uint64_t> seeds;
  bool hash = false;  // print the hash of every trace, for somebody to compare
};

std::vector<std::uint64_t> range(std::uint64_t first, std::uint64_t count) {
  std::vector<std::uint64_t> seeds(count);
  for (std::uint64_t i = 0; i < count; ++i) seeds[i] = first + i;
  return seeds;
}

// One seed a line, and behind it why it is there.
std::vector<std::uint64_t> listed(char const* path) {
  std::vector<std::uint64_t> seeds;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (!line.empty() && line.front() != '#')
      seeds.push_back(std::strtoull(line.c_str(), nullptr, 10));
  return seeds;
}

Arguments parse(int argc, char** argv) {
  Arguments given;
  std::uint64_t first = 1;
  std::uint64_t skip = 0;
  for (int i = 1; i < argc; ++i) {
    std::string_view const flag = argv[i];
    if (flag == "--hash") given.hash = true;
    if (flag == "--log") set_log_level(LogLevel::debug);
    if (i + 1 == argc) continue;
    auto const number = std::strtoull(argv[i + 1], nullptr, 10);
    if (flag == "--seed") given.seeds = {number};
    if (flag == "--first") first = number;
    if (flag == "--seeds") given.seeds = range(first, number);
    if (flag == "--skip") skip = number;
    if (flag == "--fresh")  // no two seconds have one in common
      given.seeds = range(static_cast<std::uint64_t>(std::time(nullptr)) * 1000, number);
    if (flag == "--file") given.seeds = listed(argv[i + 1]);
  }
  for (auto& seed : given.seeds) seed += skip;
  return given;
}

}  // namespace

int main(int argc, char** argv) {
  set_log_level(LogLevel::off);
  auto const given = parse(argc, argv);
  std::size_t failed = 0;
  if (!given.seeds.empty())
    fmt::print("{} seeds from {} on\n", given.seeds.size(), given.seeds.front());
  for (auto const seed : given.seeds) {
    if (given.seeds.size() == 1 && !given.hash) fmt::print("{}", world::draw_scenario(seed).text());
    auto const run = world::run_with_faults(seed);
    if (given.hash) fmt::print("{} {:016x}\n", seed, run.trace);
    if (run.fault.empty()) continue;
    ++failed;
    if (given.seeds.size() > 1) fmt::print("{}", world::draw_scenario(seed).text());
    fmt::print("FAILED {}\n  repeat: sim_faults --seed {} --log\n", run.fault, seed);
    std::fflush(stdout);
  }
  fmt::print("{} seeds, {} failed\n", given.seeds.size(), failed);
  return failed == 0 && !given.seeds.empty() ? 0 : 1;
}
