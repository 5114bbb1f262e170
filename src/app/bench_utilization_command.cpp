#include "app/bench_utilization_command.hpp"

#include "app/command_line.hpp"
#include "app/table.hpp"
#include "app/utilization_case.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <array>
#include <cmath>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace grapevine {
namespace {

using Json = nlohmann::ordered_json;

constexpr double error_max = 0.01;  // of the published table
constexpr double aim = 0.97;

struct Options {
  std::uint64_t rounds = 5;
  std::uint64_t warm_up = 5;  // until the machines have measured their links
  std::uint64_t seed = 1;
  bool published_only = false;
  bool json = false;
};

struct Row {
  UtilizationCase made;
  SwarmFigures figures;

  // What the figure is held against: what was published, or what the formula gives for it.
  [[nodiscard]] double expected() const { return made.published.value_or(made.formula()); }
};

constexpr auto none = MixPattern::none, pair = MixPattern::pair, global = MixPattern::global;

struct Method {
  char const* name;
  Mixing mixing;
  bool subset = false;
  std::uint32_t inner_steps = 100;
  std::optional<double> at_100_mbps{};  // published
  std::optional<double> at_200_mbps{};
};

constexpr Mixing mixing_of(MixPattern mix1, MixPattern mix2) {
  Mixing mixing;
  mixing.mix1 = mix1;
  mixing.mix2 = mix2;
  mixing.mix1_codec = mixing.mix2_codec = Codec::bf16;
  return mixing;
}

Method const diloco{"DiLoCo", mixing_of(none, global), false, 100, 0.36, 0.53};
Method const global_m1{"GlobalM1", mixing_of(global, none), false, 100, 0.56, 1.00};
Method const global_m1_local_m2{"GlobalM1LocalM2", mixing_of(global, pair), false, 100, 0.36, 0.66};
Method const subset{"GlobalM1LocalM2-subset", mixing_of(global, pair), true, 100, 0.45};
Method const local_m1_m2{"LocalM1M2", mixing_of(pair, pair)};
Method const local_m1{"LocalM1", mixing_of(pair, none)};
std::array const published{Method{"Sync-DP", mixing_of(none, global), false, 1, 0.01},
                           diloco,
                           global_m1,
                           global_m1_local_m2,
                           subset,
                           local_m1_m2,
                           local_m1};

UtilizationCase case_of(Method const& method) {
  UtilizationCase made;
  made.method = method.name;
  made.mixing = method.mixing;
  made.subset = method.subset;
  made.inner_steps = method.inner_steps;
  return made;
}

UtilizationCase case_of(Method const& method, Codec parameters, Codec gradients) {
  auto made = case_of(method);
  made.mixing.mix1_codec = parameters;
  made.mixing.mix2_codec = gradients;
  return made;
}

std::vector<UtilizationCase> published_cases() {
  std::vector<UtilizationCase> cases;
  for (auto const& method : published)
    for (double const mbps : {100.0, 200.0}) {
      auto made = case_of(method);
      made.up_mbps = made.down_mbps = mbps;
      made.published = mbps == 100 ? method.at_100_mbps : method.at_200_mbps;
      cases.push_back(std::move(made));
    }
  return cases;
}

// Parameters need a place for each value, gradients do not.
std::vector<UtilizationCase> codec_cases() {
  using enum Codec;
  std::vector<UtilizationCase> cases;
  for (auto const codec : {bf16, int8, int4, topk}) cases.push_back(case_of(diloco, codec, codec));
  for (auto const* const method : {&global_m1, &local_m1})
    for (auto const codec : {fp32, bf16, int8, int4})
      cases.push_back(case_of(*method, codec, codec));
  std::array const both{std::pair{bf16, bf16}, std::pair{int8, int8}, std::pair{int4, int4},
                        std::pair{bf16, topk}, std::pair{int8, topk}};
  for (auto const* const method : {&global_m1_local_m2, &subset, &local_m1_m2})
    for (auto const& [parameters, gradients] : both)
      cases.push_back(case_of(*method, parameters, gradients));
  return cases;
}

std::vector<UtilizationCase> circumstance_cases() {
  using enum Codec;
  std::vector<UtilizationCase> cases;
  for (auto const& method :
       {case_of(diloco), case_of(global_m1_local_m2, int8, topk), case_of(local_m1),
        case_of(local_m1_m2), case_of(local_m1_m2, int8, topk)}) {
    auto const add = [&](auto const& change) { change(cases.emplace_back(method)); };
    add([](auto& made) { made.up_mbps = made.down_mbps = 20; });
    add([](auto& made) { made.up_mbps = made.down_mbps = 500; });
    add([](auto& made) { made.up_mbps = 50, made.down_mbps = 500; });
    add([](auto& made) { made.peers = made.shards = 16; });
    // With everybody 64 peers mix in groups only: there are no more reducers than shards.
    if (!method.mixing.has(global)) add([](auto& made) { made.peers = 64, made.shards = 16; });
    add([](auto& made) { made.transfer_failure = 0.05; });
    add([](auto& made) { made.transfer_failure = 0.3; });
  }
  return cases;
}

std::string percent(double share) { return fmt::format("{:.1f}", 100 * share); }

std::string codecs(UtilizationCase const& made) {
  if (made.mixing.mix1 == none) return std::string(codec_name(made.mixing.mix2_codec));
  if (made.mixing.mix2 == none) return std::string(codec_name(made.mixing.mix1_codec));
  return fmt::format("{}, {}", codec_name(made.mixing.mix1_codec),
                     codec_name(made.mixing.mix2_codec));
}

std::string mbps(UtilizationCase const& made) {
  if (made.up_mbps == made.down_mbps) return fmt::format("{:.0f}", made.up_mbps);
  return fmt::format("{:.0f} up, {:.0f} down", made.up_mbps, made.down_mbps);
}

// What was mixed, of what the others had, in the lanes that the mixing has.
std::string mixed(Row const& row) {
  std::vector<std::string> lanes;
  if (row.made.mixing.mix1 != none) lanes.push_back(percent(row.figures.mixed_parameters));
  if (row.made.mixing.mix2 != none) lanes.push_back(percent(row.figures.mixed_gradients));
  return fmt::format("{}", fmt::join(lanes, ", "));
}

std::vector<Row> measure(std::vector<UtilizationCase> const& cases, Options const& options) {
  std::vector<Row> rows;
  for (auto const& made : cases) {
    fmt::print(stderr, "{} {} {} Mb/s, {} peers, {:.0f} % fail\n", made.method, codecs(made),
               mbps(made), made.peers, 100 * made.transfer_failure);
    RoundSwarm swarm(made.shape(), options.seed);
    rows.push_back({made, swarm.run(options.warm_up, options.rounds)});
  }
  return rows;
}

std::string published_text(std::vector<Row> const& rows) {
  Table table({"method", "Mb/s", "published", "formula", "measured", "sent by a peer a round"});
  for (auto const& [made, figures] : rows)
    table.add({made.method, mbps(made), made.published ? percent(*made.published) : "",
               percent(made.formula()), percent(figures.utilization),
               bytes_text(static_cast<std::uint64_t>(figures.sent_bytes))});
  return table.text();
}

std::string own_text(std::vector<Row> const& rows) {
  Table table({"method", "codecs", "Mb/s", "peers", "fail", "formula", "measured", "mixed",
               "sent by a peer a round", ""});
  for (auto const& row : rows) {
    auto const& [made, figures] = row;
    table.add({made.method, codecs(made), mbps(made), std::to_string(made.peers),
               fmt::format("{:.0f} %", 100 * made.transfer_failure),
               made.transfer_failure > 0 ? "" : percent(made.formula()),
               figures.ended ? percent(figures.utilization) : "stuck", mixed(row),
               bytes_text(static_cast<std::uint64_t>(figures.sent_bytes)),
               figures.ended && figures.utilization >= aim ? "*" : ""});
  }
  return table.text();
}

Json json_of(Row const& row) {
  auto const& [made, figures] = row;
  return {{"method", made.method},
          {"mix1", to_string(made.mixing.mix1)},
          {"mix2", to_string(made.mixing.mix2)},
          {"codec_parameters", codec_name(made.mixing.mix1_codec)},
          {"codec_gradients", codec_name(made.mixing.mix2_codec)},
          {"subset", made.subset},
          {"inner_steps", made.inner_steps},
          {"peers", made.peers},
          {"shards", made.shards},
          {"up_mbps", made.up_mbps},
          {"down_mbps", made.down_mbps},
          {"transfer_failure", made.transfer_failure},
          {"published", made.published ? Json(*made.published) : Json()},
          {"formula", made.formula()},
          {"utilization", figures.utilization},
          {"ended", figures.ended},
          {"round_s", figures.round_s},
          {"sent_bytes", figures.sent_bytes},
          {"mixed_parameters", figures.mixed_parameters},
          {"mixed_gradients", figures.mixed_gradients},
          {"syncs", figures.syncs}};
}

Json json_of(std::vector<Row> const& rows) {
  Json list = Json::array();
  for (auto const& row : rows) list.push_back(json_of(row));
  return list;
}

int report(Options const& options) {
  auto const table = measure(published_cases(), options);
  bool right = true;
  for (auto const& row : table)
    right = right && row.figures.ended &&
            std::abs(row.figures.utilization - row.expected()) <= error_max;
  fmt::print(
      "Per cent of the time that peers train: 8 of them, 1.5 B parameters in bf16, 100 inner "
      "steps\n"
      "(Sync-DP: 1) of 2.36 s; the node's machines in virtual time over links of so many Mb/s up\n"
      "and down; {} rounds, seed {}\n{}",
      options.rounds, options.seed, published_text(table));
  if (!right) fmt::print("A figure is further than a point from what was to be expected.\n");
  Json result{{"bench", "utilization"},
              {"rounds", options.rounds},
              {"seed", options.seed},
              {"within_1_point", right},
              {"published", json_of(table)}};
  if (!options.published_only) {
    auto const by_codec = measure(codec_cases(), options);
    fmt::print("\nBy codec (of Mix1, of Mix2); * reaches {:.0f} %\n{}", 100 * aim,
               own_text(by_codec));
    std::fflush(stdout);  // the rest takes minutes
    auto const circumstances = measure(circumstance_cases(), options);
    fmt::print("\nOther links and swarms, and transfers that fail\n{}", own_text(circumstances));
    result["codecs"] = json_of(by_codec);
    result["circumstances"] = json_of(circumstances);
  }
  if (options.json) fmt::print("{}\n", result.dump());
  return static_cast<int>(right ? ExitCode::done : ExitCode::failed);
}

}  // namespace

int bench_utilization_command(int argc, char** argv) {
  CLI::App app{
      "Lets the machines that decide in a node go through rounds in virtual time, over links that\n"
      "carry the bytes of a real model, and says which part of the time the peers train: beside\n"
      "the published figures of Factored Gossip DiLoCo, then for other codecs, links and "
      "swarms.\n\n"
      "  grapevine bench utilization --json",
      "grapevine bench utilization"};
  Options options;
  app.add_option("--rounds", options.rounds, "rounds that are measured")
      ->check(CLI::Range(1U, 10'000U))
      ->capture_default_str();
  app.add_option("--seed", options.seed, "of the partners, the reducers and the failures")
      ->capture_default_str();
  app.add_flag("--published", options.published_only, "the published table only");
  app.add_flag("--json", options.json, "one JSON object as the last line");
  if (auto const code = parse_arguments(app, argc, argv)) return *code;
  return report(options);
}

}  // namespace grapevine
