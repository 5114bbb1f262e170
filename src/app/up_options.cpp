#include "app/up_options.hpp"

#include "app/command_line.hpp"
#include "app/home.hpp"
#include "grapevine/base/amount.hpp"
#include "grapevine/base/limits.hpp"
#include "grapevine/base/log.hpp"
#include "grapevine/net/blob_exchange.hpp"
#include "grapevine/runtime/os_random.hpp"
#include "grapevine/wire/text.hpp"

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <ctime>
#include <filesystem>

namespace grapevine {

namespace {

constexpr char const* help =
    "Runs one peer: begins a run, joins one, or goes on with the one its home already knows.\n\n"
    "  grapevine up --new --data my-texts\n"
    "      begins a run; prints the line that others need to join it\n"
    "  grapevine up --bootstrap /ip4/192.168.1.7/tcp/4001/p2p/12D3Koo… --data my-texts\n"
    "      joins it, with texts that never leave this machine\n"
    "  grapevine up --data my-texts\n"
    "      goes on where this peer stopped\n\n"
    "Ctrl-C stops it: it says goodbye, and goes on later from the last finished round, which is\n"
    "on disk. A second Ctrl-C ends it at once.";

// The texts of the command line, before anything is made of them.
struct Texts {
  bool start_new = false;
  std::string manifest;
  std::string preset = "nano";
  std::uint64_t rounds = 0;
  std::vector<std::string> bootstrap, listen{"/ip4/0.0.0.0/tcp/0"}, announce;
  std::string status, run, config;
  std::string up_limit, down_limit, monthly_quota, quiet_hours;
  int parent = 0;
};

void add_run_options(CLI::App& app, Texts& texts, UpOptions& options) {
  auto* start_new = app.add_flag("--new", texts.start_new, "begin a new run");
  app.add_option("--manifest", texts.manifest,
                 "with --new: a JSON file that describes the run,\n"
                 "such as deploy/manifest.json")
      ->needs(start_new);
  app.add_option("--preset", texts.preset, "with --new: nano, micro or small")
      ->capture_default_str();
  app.add_option("--rounds", texts.rounds, "with --new: end after so many rounds")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{limits::rounds_max}));
  app.add_option("--bootstrap", texts.bootstrap, "address of any peer of the run to join")
      ->excludes(start_new);
  app.add_option("--run", texts.run, "which run to join, when that peer takes part in several");
  app.add_flag("--retry", options.node.retry, "keep trying while no bootstrap peer answers");
}

void add_peer_options(CLI::App& app, Texts& texts, UpOptions& options) {
  app.add_option("--data", options.data, "text file, folder of text files, or token shards")
      ->required();
  app.add_option("--home", options.home, "where this peer keeps its key, checkpoints and records")
      ->capture_default_str();
  app.add_option("--listen", texts.listen,
                 "where others connect to; port 0 takes any free one,\n"
                 "and by default the one of the last start")
      ->capture_default_str();
  app.add_option("--announce", texts.announce, "what to tell others instead, behind a router");
  app.add_option("--status", texts.status,
                 "IP address and port of the status page;\n"
                 "default: 127.0.0.1:8080, or a free port there");
  app.add_option("--device", options.device, "auto, cpu, cuda or cuda:N")->capture_default_str();
  app.add_option("--threads", options.threads, "processor threads to train with; 0 means all");
  app.add_option("--name", options.node.name, "name shown to others; default: the end of its id");
  app.add_flag("--json", options.json, "a summary as one JSON object at the end");
  app.add_flag("-v,--verbose", options.verbose, "more log lines on standard error");
  app.add_option("--with-parent", texts.parent, "end with this process")->group("");
  app.set_config("--config", "", "TOML file with any of these options")->expected(1);
  app.allow_config_extras(false);
}

void add_allowance_options(CLI::App& app, Texts& texts) {
  app.add_option("--up-limit", texts.up_limit,
                 "send at most so much of the model a second: 500kB, 2MB, 4Mbit;\n"
                 "beacons and gossip, a few kB a second, come on top");
  app.add_option("--down-limit", texts.down_limit, "receive at most so much, likewise");
  app.add_option("--monthly-quota", texts.monthly_quota,
                 "rest until the month ends (UTC) once so much was sent and\n"
                 "received, all together: 200GB");
  app.add_option("--quiet-hours", texts.quiet_hours,
                 "rest in these hours of every day, local time: 22:00-07:00");
}

Result<std::uint64_t> rate_of(std::string const& option, std::string const& text) {
  if (text.empty()) return 0;
  auto const rate = parse_byte_rate(text);
  if (!rate) return fail(Errc::usage, option + " " + rate.error().detail());
  if (*rate < BlobExchange::rate_cap_min)
    return fail(Errc::usage, fmt::format("{} {}: so little carries no model; at least {}B will do",
                                         option, text, BlobExchange::rate_cap_min));
  return *rate;
}

std::int64_t utc_offset_s(std::uint64_t unix_s) {
  auto const at = static_cast<std::time_t>(unix_s);
  std::tm local{};
  return ::localtime_r(&at, &local) == nullptr ? 0 : local.tm_gmtoff;
}

Result<Allowance> allowance_of(Texts const& texts) {
  Allowance allowance;
  TRY_ASSIGN(allowance.up_bytes_per_s, rate_of("--up-limit", texts.up_limit));
  TRY_ASSIGN(allowance.down_bytes_per_s, rate_of("--down-limit", texts.down_limit));
  if (!texts.monthly_quota.empty()) {
    auto const bytes = parse_bytes(texts.monthly_quota);
    if (!bytes) return fail(Errc::usage, "--monthly-quota " + bytes.error().detail());
    allowance.month_bytes = *bytes;
  }
  if (!texts.quiet_hours.empty()) {
    auto const hours = QuietHours::parse(texts.quiet_hours);
    if (!hours) return fail(Errc::usage, "--quiet-hours " + hours.error().detail());
    allowance.quiet_hours = *hours;
  }
  allowance.utc_offset_s = utc_offset_s;
  return allowance;
}

Result<RunManifest> manifest_of(Texts const& texts) {
  RunManifest manifest;
  if (texts.manifest.empty()) {
    TRY_ASSIGN(manifest.model, parse_preset("--preset", texts.preset));
    manifest.name = texts.preset + " run";
  } else {
    auto const json = read_text_file(texts.manifest, limits::manifest_json_max);
    if (!json)
      return fail(Errc::usage, "--manifest " + texts.manifest + ": " + json.error().message());
    auto described = manifest_from_json(*json);
    if (!described)
      return fail(described.error().errc(), texts.manifest + ": " + described.error().detail());
    manifest = std::move(*described);
  }
  if (texts.rounds > 0) manifest.rounds = texts.rounds;
  if (manifest.seed == 0) manifest.seed = OsRandom().next() >> 12;  // exact in JSON readers
  return manifest;
}

bool is_device(std::string_view text) {
  if (text == "auto" || text == "cpu" || text == "cuda") return true;
  if (!text.starts_with("cuda:") || text.size() == 5) return false;
  return std::ranges::all_of(text.substr(5), [](char c) { return c >= '0' && c <= '9'; });
}

Result<bool> knows_a_run(UpOptions const& options) {
  auto const path = options.home + "/manifest.json";
  std::error_code error;
  bool const there = std::filesystem::exists(path, error);
  if (error) return fail(Errc::not_writable, path + ": " + error.message());
  return there;
}

Result<> check_choice(Texts const& texts, UpOptions const& options) {
  TRY_ASSIGN(bool const knows_one, knows_a_run(options));
  if (!texts.start_new && texts.bootstrap.empty() && !knows_one)
    return fail(Errc::usage, "say --new to begin a run, or --bootstrap ADDRESS to join one: " +
                                 options.home + " knows no run yet");
  if (texts.rounds > 0 && !texts.start_new)
    return fail(Errc::usage, "--rounds goes with --new: the run decides for those who join it");
  if (!is_device(options.device))
    return fail(Errc::usage, "--device " + options.device + ": not auto, cpu, cuda or cuda:N");
  if (options.node.name.size() > limits::peer_name_max)
    return fail(Errc::usage, fmt::format("--name: over {} bytes", limits::peer_name_max));
  if (!is_printable_utf8(options.node.name))
    return fail(Errc::usage, "--name: not printable text in UTF-8");
  return {};
}

Result<> complete(Texts const& texts, UpOptions& options) {
  TRY(check_choice(texts, options));
  TRY_ASSIGN(options.node.allowance, allowance_of(texts));
  TRY_ASSIGN(options.node.bootstrap, parse_addresses("--bootstrap", texts.bootstrap));
  TRY_ASSIGN(options.node.listen, parse_addresses("--listen", texts.listen));
  TRY_ASSIGN(options.node.announce, parse_addresses("--announce", texts.announce));
  if (!texts.status.empty()) {
    TRY_ASSIGN(options.status, parse_endpoint("--status", texts.status));
    options.status_chosen = true;
  }
  if (!texts.run.empty()) {
    auto const run = Hash::parse(texts.run);
    if (!run) return fail(Errc::usage, "--run " + texts.run + ": not the id of a run");
    options.node.run = *run;
  }
  if (texts.start_new && knows_a_run(options).value_or(false))
    log_warn(
        "{} takes part in a run already and goes on with it: a new run needs a home of its own",
        options.home);
  if (texts.start_new) {
    TRY_ASSIGN(options.node.create, manifest_of(texts));
  }
  if (texts.parent > 0) options.parent = texts.parent;
  options.node.shown_config = {{"home", options.home},
                               {"data", options.data},
                               {"device", options.device},
                               {"threads", std::to_string(options.threads)},
                               {"retry", options.node.retry ? "true" : "false"},
                               {"up_limit", texts.up_limit},
                               {"down_limit", texts.down_limit},
                               {"monthly_quota", texts.monthly_quota},
                               {"quiet_hours", texts.quiet_hours}};
  return {};
}

}  // namespace

std::variant<UpOptions, int> parse_up_options(int argc, char** argv) {
  CLI::App app{help, "grapevine up"};
  Texts texts;
  UpOptions options;
  options.home = default_home();
  add_run_options(app, texts, options);
  add_peer_options(app, texts, options);
  add_allowance_options(app, texts);
  if (auto const code = parse_arguments(app, argc, argv)) return *code;
  options.node.keep_port = app.count("--listen") == 0;
  auto const done = complete(texts, options);
  if (!done) return end_with(done.error(), options.json);
  return options;
}

}  // namespace grapevine
