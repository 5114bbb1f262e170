// The grapevine program: finds the command and hands it its arguments.

#include "app/command_line.hpp"
#include "app/commands.hpp"
#include "app/host_command.hpp"
#include "app/sample_command.hpp"
#include "app/sim_command.hpp"
#include "app/stop_signals.hpp"
#include "grapevine/wire/manifest.hpp"

#include <fmt/core.h>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <limits>
#include <new>

namespace grapevine {

namespace {

struct Command {
  char const* name;
  char const* text;
  int (*run)(int argc, char** argv);
};

constexpr std::array commands{
    Command{"demo", "a whole swarm on this machine, in two minutes", demo_command},
    Command{"up", "run one peer: begin a run, or join one", up_command},
    Command{"status", "what a running peer is doing", status_command},
    Command{"pause", "have a running peer rest: a planned absence", pause_command},
    Command{"resume", "have it take part again", resume_command},
    Command{"sample", "text from the trained model", sample_command},
    Command{"whoami", "the id that others know this peer by", whoami_command},
    Command{"key", "make, export or import that identity", key_command},
    Command{"host", "a bare libp2p host, for diagnosis", host_command},
    Command{"bench", "the measurements this project reports", bench_command},
    Command{"sim", "swarms in a simulated world where everything breaks", sim_command},
    Command{"explain", "cause and fix of an error code", explain_command},
};

void print_help() {
  fmt::print(
      "Grapevine trains language models together with others, each on their own machine and text.\n"
      "\nUsage: grapevine COMMAND [OPTIONS]\n\n");
  for (auto const& command : commands) fmt::print("  {:<9} {}\n", command.name, command.text);
  fmt::print(
      "\nFirst steps:\n"
      "  grapevine demo                                  see a swarm learn, and lose a peer\n"
      "  grapevine up --new --data my-texts              begin a run; prints how others join\n"
      "  grapevine up --bootstrap ADDRESS --data my-texts\n"
      "  grapevine COMMAND --help                        every option, with examples\n"
      "\nExit codes: 0 done, 1 failed, 2 wrong usage, 3 refused by the run, 4 environment\n"
      "(port, disk, data, home, nobody reachable), 130 and 143 stopped by a signal.\n");
}

// A round frees large buffers and wants others of the same sizes soon after. Given back to the
// system, their pages would be faulted in and zeroed anew each time.
void keep_freed_memory() {
#if defined(__GLIBC__)
  ::mallopt(M_ARENA_MAX, 1);  // what one thread freed serves the others
  ::mallopt(M_MMAP_MAX, 0);
  ::mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
#endif
}

int unknown_command(std::string_view word) {
  std::vector<std::string> names{"--help", "--version"};
  for (auto const& command : commands) names.emplace_back(command.name);
  auto const meant = closest(word, names);
  return end_with_usage(fmt::format("grapevine does not know {}{}", word,
                                    meant.empty() ? "" : "; did you mean " + meant + "?"));
}

int dispatch(int argc, char** argv) {
  std::string_view const word = argc > 1 ? argv[1] : "--help";
  if (word == "--help" || word == "-h" || word == "help") {
    print_help();
    return 0;
  }
  if (word == "--version") {
    fmt::print("grapevine {} (protocol {})\n", GRAPEVINE_VERSION, protocol_version);
    return 0;
  }
  auto const* found = std::ranges::find(commands, word, &Command::name);
  return found == commands.end() ? unknown_command(word) : found->run(argc - 1, argv + 1);
}

}  // namespace

}  // namespace grapevine

// Only two exceptions get here: no memory, and what nobody foresaw.
int main(int argc, char** argv) {
  using namespace grapevine;
  end_at_stop_signals();
  keep_freed_memory();
  try {
    return dispatch(argc, argv);
  } catch (std::bad_alloc const&) {
    return end_with(Error(Errc::out_of_memory));
  } catch (std::exception const& error) {
    return end_with(Error(Errc::internal, error.what()));
  }
}
