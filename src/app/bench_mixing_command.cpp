#include "app/bench_mixing_command.hpp"

#include "app/child_process.hpp"
#include "app/command_line.hpp"
#include "app/home.hpp"
#include "app/machine_speed.hpp"
#include "app/mixing_peer.hpp"
#include "app/table.hpp"
#include "app/temporary_folder.hpp"
#include "grapevine/runtime/steady_clock.hpp"

#include <fmt/core.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>
#include <sstream>
#include <thread>

namespace grapevine {
namespace {

using Json = nlohmann::ordered_json;

constexpr Duration patience = 300s;
constexpr Duration look_again = 100ms;
constexpr std::size_t output_bytes_max = 1 << 20;
// Until all have found each other, and the first exchange that warms everything up.
constexpr std::uint64_t rounds_of_warmup = 6;

struct Options {
  std::vector<std::string> patterns{"global", "pair"};
  std::vector<std::string> codecs{"fp32", "bf16", "int8"};
  std::vector<std::uint64_t> elements{25'000'000};
  std::uint32_t peers = 4;
  std::uint64_t rounds = 5;
  bool json = false;
  // Of a peer process.
  MixingPeerOptions peer;
  std::optional<int> parent;
};

struct Figures {
  std::string pattern;
  std::string codec;
  std::uint64_t elements = 0;
  std::size_t rounds = 0;  // in which everybody mixed
  double mix_s = 0;        // from the end of the inner steps to the next round; median, slowest
  double bytes_out = 0;    // a peer and round; mean
  double cpu_s = 0;        // a peer and round, the inner steps included; mean
  std::uint64_t rss_bytes = 0;  // a peer's peak; the largest
};

std::vector<Json> lines_of(std::string const& path) {
  std::vector<Json> lines;
  std::istringstream text(read_text_file(path, output_bytes_max).value_or(""));
  for (std::string line; std::getline(text, line);) {
    auto json = Json::parse(line, nullptr, false);
    if (json.is_object()) lines.push_back(std::move(json));
  }
  return lines;
}

class Measurement {
 public:
  Measurement(std::string pattern, std::string codec, std::uint64_t elements,
              Options const& options, TemporaryFolder folder)
      : pattern_(std::move(pattern)),
        codec_(std::move(codec)),
        elements_(elements),
        options_(options),
        folder_(std::move(folder)) {}

  Result<Figures> run() {
    TRY(start(""));
    TRY_ASSIGN(auto const address, wait_for_address());
    while (peers_.size() < options_.peers) {
      TRY(start(address));
    }
    TRY(wait_for_all());
    return figures();
  }

 private:
  [[nodiscard]] std::string base_of(std::size_t peer) const {
    return folder_.path() + "/peer-" + std::to_string(peer);
  }

  Result<> start(std::string const& bootstrap) {
    auto const base = base_of(peers_.size());
    std::vector<std::string> arguments{
        "bench",      "mixing",
        "--home",     base,
        "--pattern",  pattern_,
        "--codec",    codec_,
        "--elements", std::to_string(elements_),
        "--rounds",   std::to_string(options_.rounds + rounds_of_warmup)};
    if (!bootstrap.empty()) arguments.insert(arguments.end(), {"--bootstrap", bootstrap});
    TRY_ASSIGN(auto peer, ChildProcess::start(std::move(arguments), base + ".out", base + ".log"));
    peers_.push_back(std::move(peer));
    return {};
  }

  Result<std::string> wait_for_address() {
    auto const until = clock_.now() + patience;
    for (;;) {
      auto const lines = lines_of(base_of(0) + ".out");
      if (!lines.empty() && lines[0].contains("address"))
        return lines[0]["address"].get<std::string>();
      if (clock_.now() > until || peers_[0].exit_code()) return failure(0);
      std::this_thread::sleep_for(look_again);
    }
  }

  Result<> wait_for_all() {
    auto const until = clock_.now() + patience;
    for (std::size_t i = 0; i < peers_.size(); ++i) {
      while (!peers_[i].exit_code() && clock_.now() < until)
        std::this_thread::sleep_for(look_again);
      if (peers_[i].exit_code() != 0) return failure(i);
    }
    return {};
  }

  tl::unexpected<Error> failure(std::size_t peer) const {
    auto const said = read_text_file(base_of(peer) + ".log", output_bytes_max).value_or("");
    return fail(Errc::internal, fmt::format("peer {} did not end well: {}", peer, said));
  }

  // From the first round that peer `i` ended to its last: neither its start nor its last
  // checkpoint.
  [[nodiscard]] double cpu_of_a_round(std::size_t i) const {
    std::vector<double> used;
    for (auto const& line : lines_of(base_of(i) + ".out"))
      if (line.contains("round")) used.push_back(line["cpu_s"].get<double>());
    if (used.size() < 2) return 0;
    return (used.back() - used.front()) / static_cast<double>(used.size() - 1);
  }

  // Rounds in which everybody mixed, but for the first: the slowest peer's time counts.
  Figures figures() const {
    Figures figures{.pattern = pattern_, .codec = codec_, .elements = elements_};
    auto const together = pattern_ == "pair" ? 2 : options_.peers;
    std::map<std::uint64_t, std::vector<Json>> rounds;
    for (std::size_t i = 0; i < peers_.size(); ++i) {
      for (auto const& line : lines_of(base_of(i) + ".out")) {
        if (line.contains("round") && line["participants"] == together)
          rounds[line["round"].get<std::uint64_t>()].push_back(line);
        if (line.contains("rss_bytes_max"))
          figures.rss_bytes =
              std::max(figures.rss_bytes, line["rss_bytes_max"].get<std::uint64_t>());
      }
      figures.cpu_s += cpu_of_a_round(i) / static_cast<double>(peers_.size());
    }
    std::erase_if(rounds, [&](auto const& round) { return round.second.size() < peers_.size(); });
    if (rounds.size() > 1) rounds.erase(rounds.begin());
    std::vector<double> slowest;
    for (auto const& [number, lines] : rounds) {
      double seconds = 0;
      for (auto const& line : lines) {
        seconds = std::max(seconds, line["mix_s"].get<double>());
        figures.bytes_out +=
            line["bytes_out"].get<double>() / static_cast<double>(rounds.size() * peers_.size());
      }
      slowest.push_back(seconds);
    }
    std::ranges::sort(slowest);
    figures.rounds = slowest.size();
    figures.mix_s = slowest.empty() ? 0 : slowest[slowest.size() / 2];
    return figures;
  }

  std::string pattern_;
  std::string codec_;
  std::uint64_t elements_;
  Options const& options_;
  SteadyClock clock_;
  TemporaryFolder folder_;
  std::vector<ChildProcess> peers_;
};

void print(std::vector<Figures> const& all, double memory, double loopback,
           Options const& options) {
  Table table(
      {"pattern", "codec", "parameters", "rounds", "seconds", "sent", "CPU s", "peak memory"});
  Json rows = Json::array();
  for (auto const& row : all) {
    table.add({row.pattern, row.codec, std::to_string(row.elements), std::to_string(row.rounds),
               row.rounds == 0 ? "-" : fmt::format("{:.2f}", row.mix_s),
               bytes_text(static_cast<std::uint64_t>(row.bytes_out)),
               fmt::format("{:.2f}", row.cpu_s), bytes_text(row.rss_bytes)});
    rows.push_back({{"pattern", row.pattern},
                    {"codec", row.codec},
                    {"elements", row.elements},
                    {"rounds", row.rounds},
                    {"mix_s", row.mix_s},
                    {"bytes_out", row.bytes_out},
                    {"cpu_s", row.cpu_s},
                    {"rss_bytes_max", row.rss_bytes}});
  }
  fmt::print(
      "Averaging parameters over {} processes on loopback, encrypted, signed and checked by\n"
      "hash: from the end of the inner steps to the start of the next round, outer step and the\n"
      "hashing of the new state included. Bytes, CPU and memory are a peer's.\n{}"
      "In the same run: memory copies {:.1f} GB/s on one core, loopback TCP carries {:.1f} GB/s.\n",
      options.peers, table.text(), memory * 1e-9, loopback * 1e-9);
  if (!options.json) return;
  Json const result{{"bench", "mixing"},
                    {"peers", options.peers},
                    {"memory_bytes_per_s", memory},
                    {"loopback_bytes_per_s", loopback},
                    {"rows", rows}};
  fmt::print("{}\n", result.dump());
}

int measure_all(Options const& options) {
  double const memory = memory_copy_bytes_per_s();
  auto const loopback = loopback_bytes_per_s();
  if (!loopback) return end_with(loopback.error(), options.json);
  std::vector<Figures> all;
  for (auto const elements : options.elements) {
    for (auto const& pattern : options.patterns)
      for (auto const& codec : options.codecs) {
        fmt::print(stderr, "{}, {}, {} parameters\n", pattern, codec, elements);
        auto folder = TemporaryFolder::make("mixing");
        if (!folder) return end_with(folder.error(), options.json);
        auto figures = Measurement(pattern, codec, elements, options, std::move(*folder)).run();
        if (!figures) return end_with(figures.error(), options.json);
        all.push_back(*std::move(figures));
      }
  }
  print(all, memory, *loopback, options);
  return 0;
}

}  // namespace

int bench_mixing_command(int argc, char** argv) {
  CLI::App app{
      "Measures what it costs to average large vectors over processes on this machine.\n\n"
      "  grapevine bench mixing --elements 25000000 --json",
      "grapevine bench mixing"};
  Options options;
  app.add_option("--pattern", options.patterns, "global, pair")
      ->check(CLI::IsMember({"global", "pair"}))
      ->capture_default_str();
  app.add_option("--codec", options.codecs, "fp32, bf16, int8, int4; topk with global")
      ->check(CLI::IsMember({"fp32", "bf16", "int8", "int4", "topk"}))
      ->capture_default_str();
  app.add_option("--elements", options.elements, "parameters, 4 bytes each")
      ->check(CLI::Range(std::uint64_t{1000}, std::uint64_t{1'000'000'000}))
      ->capture_default_str();
  app.add_option("--peers", options.peers, "processes")
      ->check(CLI::Range(2U, 16U))
      ->capture_default_str();
  app.add_option("--rounds", options.rounds, "rounds that count")
      ->check(CLI::Range(1U, 1000U))
      ->capture_default_str();
  app.add_flag("--json", options.json, "one JSON object as the last line");
  app.add_option("--home", options.peer.home)->group("");
  app.add_option("--bootstrap", options.peer.bootstrap)->group("");
  app.add_option("--with-parent", options.parent)->group("");
  if (auto const code = parse_arguments(app, argc, argv)) return *code;
  if (!options.parent) return measure_all(options);

  if (!end_with_parent(*options.parent)) return 1;
  options.peer.pattern = options.patterns.front() == "pair" ? MixPattern::pair : MixPattern::global;
  options.peer.codec = *std::ranges::find(codecs, options.codecs.front(), codec_name);
  options.peer.elements = options.elements.front();
  options.peer.rounds = options.rounds;
  return run_mixing_peer(options.peer);
}

}  // namespace grapevine
