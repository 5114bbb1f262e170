#include "app/demo_options.hpp"

#include "app/command_line.hpp"
#include "app/temporary_folder.hpp"
#include "grapevine/wire/mix_pattern.hpp"

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <filesystem>

namespace grapevine {

namespace fs = std::filesystem;

namespace {

constexpr std::uint32_t peers_max = 16;
constexpr std::uint64_t rounds_max = 1000;

constexpr char const* help =
    "A whole swarm on this machine: starts peers as processes of their own, lets them find each\n"
    "other through one address and train together on real text, kills one on the way, and shows\n"
    "what came of it. Takes about two minutes.\n\n"
    "  grapevine demo\n"
    "  grapevine demo --peers 3 --rounds 5 --data my-texts";

Result<> check_numbers(DemoOptions const& options) {
  if (options.peers < 2 || options.peers > peers_max)
    return fail(Errc::usage, fmt::format("--peers {}: 2 to {}", options.peers, peers_max));
  if (options.rounds < 2 || options.rounds > rounds_max)
    return fail(Errc::usage, fmt::format("--rounds {}: 2 to {}", options.rounds, rounds_max));
  if (options.kill >= options.peers)
    return fail(Errc::usage, fmt::format("--kill {}: somebody must survive of {} peers",
                                         options.kill, options.peers));
  TRY(parse_preset("--preset", options.preset));
  TRY(mixing_method(options.method, options.codec));
  if (!fs::exists(options.data)) return fail(Errc::data_missing, options.data);
  return {};
}

Result<> make_home(DemoOptions& options) {
  std::error_code error;
  if (options.home.empty()) {
    TRY_ASSIGN(options.home, make_temporary_folder("demo"));
    options.temporary = true;
    return {};
  }
  options.home = fs::absolute(options.home, error).lexically_normal().string();
  fs::create_directories(options.home, error);
  if (error) return fail(Errc::not_writable, options.home + ": " + error.message());
  if (!fs::is_empty(options.home, error))
    return fail(Errc::usage, "--home " + options.home + ": must be an empty folder");
  return {};
}

}  // namespace

std::variant<DemoOptions, int> parse_demo_options(int argc, char** argv) {
  CLI::App app{help, "grapevine demo"};
  DemoOptions options;
  app.add_option("--peers", options.peers, "how many peers")->capture_default_str();
  app.add_option("--rounds", options.rounds, "how many rounds")->capture_default_str();
  app.add_option("--kill", options.kill, "how many of them are killed half-way")
      ->capture_default_str();
  app.add_option("--data", options.data, "text file or folder; each peer gets its own part")
      ->capture_default_str();
  app.add_option("--preset", options.preset, "size of the model")->capture_default_str();
  app.add_option("--method", options.method,
                 "what is mixed: diloco, global-m1, local-m1, global-m1-local-m2, local-m1-m2,\n"
                 "joint-pairs or alone")
      ->capture_default_str();
  app.add_option("--codec", options.codec,
                 "how it travels: fp32, bf16, int8, int4 or topk (outer gradients only)")
      ->capture_default_str();
  app.add_option("--home", options.home, "empty folder to work in; default: a temporary one");
  app.add_flag("--json", options.json, "the outcome as one JSON object at the end");
  if (auto const code = parse_arguments(app, argc, argv)) return *code;
  auto checked = check_numbers(options);
  if (checked) checked = make_home(options);
  if (!checked) return end_with(checked.error(), options.json);
  return options;
}

}  // namespace grapevine
