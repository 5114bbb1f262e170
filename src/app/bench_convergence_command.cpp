#include "app/bench_convergence_command.hpp"

#include "app/command_line.hpp"
#include "app/demo_data.hpp"
#include "app/learning_swarm.hpp"
#include "app/table.hpp"
#include "app/temporary_folder.hpp"
#include "grapevine/base/log.hpp"

#include <fmt/core.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace grapevine {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::uint32_t peers = 8;
  std::uint64_t seeds = 3;
  std::uint64_t rounds = 12;
  std::uint32_t inner_steps = 50;
  double inner_lr = 4e-3;
  std::string data = "/usr/share/games/fortunes";
  std::string only;
  bool json = false;
};

enum class Way { synchronous, formula, alone, swarm };

struct Case {
  std::string name;
  Way way = Way::swarm;
  Mixing mixing{};
  // Few rounds: with more momentum the first gradients are followed for too long.
  OuterOptimizer outer{.momentum = 0.5F};
  double link_failure = 0;
  std::optional<double> perplexity{};  // published: 10 B tokens, H = 100, 8 peers
};

struct Row {
  Case made;
  std::vector<Learned> runs;  // by seed

  [[nodiscard]] double mean(double Learned::* figure) const {
    double sum = 0;
    for (auto const& run : runs) sum += run.*figure;
    return sum / static_cast<double>(runs.size());
  }
};

constexpr auto none = MixPattern::none, pair = MixPattern::pair, global = MixPattern::global;

Mixing mixing_of(MixPattern mix1, MixPattern mix2, Codec parameters = Codec::fp32,
                 Codec gradients = Codec::fp32) {
  Mixing mixing{};
  mixing.mix1 = mix1;
  mixing.mix2 = mix2;
  mixing.mix1_codec = parameters;
  mixing.mix2_codec = gradients;
  return mixing;
}

Case swarm_of(std::string name, Mixing const& mixing) {
  Case made;
  made.name = std::move(name);
  made.mixing = mixing;
  return made;
}

Case published(Case made, double perplexity) {
  made.perplexity = perplexity;
  return made;
}

struct Method {
  char const* name;
  Mixing mixing;
};

std::vector<Case> cases() {
  using enum Codec;
  Method const diloco{"DiLoCo", mixing_of(none, global)};
  Method const factored{"GlobalM1LocalM2", mixing_of(global, pair)};
  Method const pairs{"LocalM1M2", mixing_of(pair, pair)};
  std::vector<Case> all;
  auto const of = [](Method const& method) { return swarm_of(method.name, method.mixing); };
  auto const without_a_swarm = [](char const* name, Way way) {
    auto made = swarm_of(name, {});
    made.way = way;
    return made;
  };
  all.push_back(published(without_a_swarm("Sync-DP", Way::synchronous), 17.53));
  all.push_back(without_a_swarm("DiLoCo by the formula", Way::formula));
  all.push_back(published(of(diloco), 18.65));
  all.push_back(published(of(factored), 18.80));
  all.push_back(published(of(pairs), 19.37));
  all.push_back(published(swarm_of("GlobalM1", mixing_of(global, none)), 19.42));
  all.push_back(swarm_of("LocalM1", mixing_of(pair, none)));
  all.push_back(without_a_swarm("alone", Way::alone));
  for (auto const& method : {factored, pairs}) {
    auto& made = all.emplace_back(of(method));
    made.name += ", momentum mixed";
    made.mixing.mix1_momentum = true;
  }
  for (auto const& method : {diloco, factored, pairs}) {
    auto& made = all.emplace_back(of(method));
    made.name += ", momentum 0.9";
    made.outer.momentum = 0.9F;
  }
  for (auto const codec : {bf16, int8, int4, topk})
    all.push_back(swarm_of(fmt::format("DiLoCo {}", codec_name(codec)),
                           mixing_of(none, global, fp32, codec)));
  for (auto const& [parameters, gradients] :
       {std::pair{int8, int8}, std::pair{int4, int4}, std::pair{int8, topk}})
    all.push_back(swarm_of(
        fmt::format("GlobalM1LocalM2 {}, {}", codec_name(parameters), codec_name(gradients)),
        mixing_of(global, pair, parameters, gradients)));
  auto& sparse = all.emplace_back(swarm_of("SparseLoCo", mixing_of(none, global, fp32, topk)));
  sparse.mixing.error_decay = 0.95F;
  sparse.outer = {.lr = 1, .momentum = 0, .nesterov = false};
  auto joint = swarm_of("joint pairs", pairs.mixing);
  joint.mixing.joint = true;
  all.push_back(joint);
  joint.name = "NoLoCo";
  joint.outer = {.lr = 0.7F, .momentum = 0.5F, .nesterov = false, .pull = 0.7F};
  all.push_back(joint);
  for (double const failure : {0.05, 0.3})
    for (auto const& method : {diloco, factored, pairs}) {
      auto& made = all.emplace_back(of(method));
      made.name += fmt::format(", {:.0f} % of links down", 100 * failure);
      made.link_failure = failure;
    }
  return all;
}

Result<Learned> learn(Case const& made, LearningShape shape) {
  shape.mixing = made.mixing;
  shape.outer = made.outer;
  shape.link_failure = made.link_failure;
  if (made.way == Way::synchronous) return learn_synchronously(shape);
  if (made.way == Way::formula) return learn_by_the_formula(shape);
  if (made.way == Way::alone) return learn_alone(shape);
  return learn_together(shape);
}

Result<std::vector<Row>> measure(Options const& options) {
  TRY_ASSIGN(auto const folder, TemporaryFolder::make("convergence"));
  LearningShape shape;
  shape.all = folder.path();
  TRY_ASSIGN(shape.shares, share_data(learning_data(options.data), shape.all, options.peers));
  shape.inner_steps = options.inner_steps;
  shape.inner_lr = options.inner_lr;
  shape.rounds = options.rounds;
  std::vector<Row> rows;
  for (auto const& made : cases()) {
    if (made.name.find(options.only) == std::string::npos) continue;
    Row row{made, {}};
    for (shape.seed = 1; shape.seed <= options.seeds; ++shape.seed) {
      fmt::print(stderr, "{}, seed {}", made.name, shape.seed);
      TRY_ASSIGN(auto const learned, learn(made, shape));
      fmt::print(stderr, ": {:.4f}\n", learned.loss);
      row.runs.push_back(learned);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

Row const* named(std::vector<Row> const& rows, std::string_view name) {
  for (auto const& row : rows)
    if (row.made.name == name) return &row;
  return nullptr;
}

struct Gap {
  double mean = 0;   // relative difference of the loss
  double error = 0;  // standard error of that mean, from seed to seed
};

// Seed by seed: peers of one seed begin alike and see the same text.
Gap gap(Row const& row, Row const& base) {
  auto const count = static_cast<double>(row.runs.size());
  std::vector<double> each;
  Gap found;
  for (std::size_t i = 0; i < row.runs.size(); ++i) {
    each.push_back(row.runs[i].loss / base.runs[i].loss - 1);
    found.mean += each.back() / count;
  }
  for (double const one : each) found.error += (one - found.mean) * (one - found.mean);
  found.error = count > 1 ? std::sqrt(found.error / (count - 1) / count) : 0;
  return found;
}

std::string table_text(std::vector<Row> const& rows) {
  auto const* const base = named(rows, "DiLoCo");
  Table table({"", "loss", "of the mean model", "beside DiLoCo", "published", "mixed", "js",
               "sent by a peer a round"});
  for (auto const& row : rows) {
    std::string beside, published;
    if (base != nullptr && &row != base) {
      auto const found = gap(row, *base);
      beside = fmt::format("{:+.2f} % ± {:.2f}", 100 * found.mean, 100 * found.error);
    }
    auto const& perplexity = row.made.perplexity;
    if (base != nullptr && &row != base && perplexity)
      published = fmt::format("{:+.2f} %",
                              100 * (std::log(*perplexity) / std::log(*base->made.perplexity) - 1));
    bool const swarm = row.made.way == Way::swarm;
    table.add({row.made.name, fmt::format("{:.4f}", row.mean(&Learned::loss)),
               fmt::format("{:.4f}", row.mean(&Learned::loss_mean)), beside, published,
               swarm ? fmt::format("{:.1f} %", 100 * row.mean(&Learned::mixed)) : "",
               swarm ? fmt::format("{:.3f}", row.mean(&Learned::js)) : "",
               swarm ? bytes_text(row.runs.front().bytes) : ""});
  }
  return table.text();
}

Json json_of(std::vector<Row> const& rows) {
  auto const* const base = named(rows, "DiLoCo");
  Json list = Json::array();
  for (auto const& row : rows) {
    Json runs = Json::array();
    for (auto const& run : row.runs)
      runs.push_back({{"loss", run.loss},
                      {"loss_mean_model", run.loss_mean},
                      {"mixed", run.mixed},
                      {"js", run.js},
                      {"bytes_sent", run.bytes}});
    Json entry{{"name", row.made.name}, {"loss", row.mean(&Learned::loss)}};
    if (base != nullptr) {
      auto const found = gap(row, *base);
      entry["beside_diloco"] = found.mean;
      entry["standard_error"] = found.error;
    }
    if (row.made.perplexity) entry["published_perplexity"] = *row.made.perplexity;
    entry["runs"] = std::move(runs);
    list.push_back(std::move(entry));
  }
  return list;
}

int report(Options const& options) {
  auto const rows = measure(options);
  if (!rows) return end_with(rows.error());
  fmt::print(
      "What {} peers learn, each from a share of {} of its own: {} rounds of {} inner steps, {} "
      "seeds.\n"
      "Nats a token on everybody's held-out text; in the published column what the paper has for\n"
      "a model 14 000 times as large, as the same ratio of losses.\n{}",
      options.peers, options.data, options.rounds, options.inner_steps, options.seeds,
      table_text(*rows));
  if (options.json) {
    Json const result{{"bench", "convergence"},   {"peers", options.peers},
                      {"rounds", options.rounds}, {"inner_steps", options.inner_steps},
                      {"seeds", options.seeds},   {"cases", json_of(*rows)}};
    fmt::print("{}\n", result.dump());
  }
  return static_cast<int>(ExitCode::done);
}

}  // namespace

int bench_convergence_command(int argc, char** argv) {
  CLI::App app{
      "Lets whole nodes train together in a simulated world, with a real model small enough for\n"
      "two cores, on real text of which each has a share of its own, and says what they have\n"
      "learned: for each way of mixing and each codec, with links that are down, beside what was\n"
      "published. Every case sees as much text; a seed gives the same figures each time.\n\n"
      "  grapevine bench convergence --json\n"
      "  grapevine bench convergence --only LocalM1M2 --seeds 1",
      "grapevine bench convergence"};
  Options options;
  app.add_option("--peers", options.peers, "peers of a swarm")
      ->check(CLI::Range(2U, 32U))
      ->capture_default_str();
  app.add_option("--seeds", options.seeds, "runs of each case")
      ->check(CLI::Range(1U, 100U))
      ->capture_default_str();
  app.add_option("--rounds", options.rounds, "rounds of a run")
      ->check(CLI::Range(1U, 10'000U))
      ->capture_default_str();
  app.add_option("--inner-steps", options.inner_steps, "inner steps of a round")
      ->check(CLI::Range(1U, 10'000U))
      ->capture_default_str();
  app.add_option("--inner-lr", options.inner_lr, "learning rate of the inner steps")
      ->check(CLI::Range(1e-6, 1.0))
      ->capture_default_str();
  app.add_option("--data", options.data, "a file or folder of text")->capture_default_str();
  app.add_option("--only", options.only, "cases whose name has this in it");
  app.add_flag("--json", options.json, "one JSON object as the last line");
  if (auto const code = parse_arguments(app, argc, argv)) return *code;
  set_log_level(LogLevel::off);
  return report(options);
}

}  // namespace grapevine
