#include "app/bench_train_command.hpp"

#include "app/command_line.hpp"
#include "app/table.hpp"
#include "grapevine/torch/torch_trainer.hpp"

#include <fmt/core.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <optional>

namespace grapevine {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint32_t warmup_steps = 2;
constexpr std::uint32_t steps_least = 2;

struct BenchOptions {
  std::vector<std::string> models{"nano", "micro"};
  std::uint32_t threads = 1;
  std::uint32_t batch = 16;
  double seconds = 5;
  std::uint32_t repeats = 3;
  std::string eager = "tools/bench/eager_train.py";
  std::string python = "python3";
  bool json = false;
};

struct Figures {
  std::string model;
  std::uint64_t parameters = 0;
  std::vector<double> ours;   // tokens a second, one a repeat
  std::vector<double> eager;  // empty without PyTorch
};

std::optional<double> median(std::vector<double> values) {
  if (values.empty()) return std::nullopt;
  std::ranges::sort(values);
  return values[values.size() / 2];
}

std::string letters(std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += static_cast<char>('a' + i * i % 26);
  return text;
}

Result<std::unique_ptr<Trainer>> make_trainer(ModelConfig const& model,
                                              BenchOptions const& options) {
  TorchTrainerOptions made;
  made.model = model;
  made.settings.batch = options.batch;
  made.device = "cpu";
  made.threads = options.threads;
  made.precision = Precision::fp32;  // what eager computes in
  auto const text = letters(std::size_t{model.context + 1} * options.batch * 2);
  TRY_ASSIGN(auto data, Dataset::from_text("bench", text,
                                           {.path = {},
                                            .vocab_size = model.vocab_size,
                                            .context = model.context,
                                            .batch = options.batch}));
  made.data = std::make_shared<Dataset const>(std::move(data));
  return make_torch_trainer(std::move(made));
}

// How many steps fill the time of a measurement; the first steps, slower, are not measured.
Result<std::uint32_t> steps_of(Trainer& trainer, BenchOptions const& options) {
  TRY(trainer.run({.first_step = 0, .steps = 1}, {}, {}));
  TRY_ASSIGN(auto const report, trainer.run({.first_step = 0, .steps = warmup_steps}, {}, {}));
  double const steps = options.seconds * report.steps / report.seconds;
  return std::max(steps_least, static_cast<std::uint32_t>(std::min(steps, 1e6)));
}

Result<double> our_speed(Trainer& trainer, std::uint32_t steps) {
  TRY_ASSIGN(auto const report, trainer.run({.first_step = 0, .steps = steps}, {}, {}));
  return static_cast<double>(report.tokens) / report.seconds;
}

// A shell word, whatever it holds.
std::string quoted(std::string const& text) {
  std::string word = "'";
  for (char const c : text) word += c == '\'' ? "'\\''" : std::string(1, c);
  return word + "'";
}

// Nothing where Python, its torch or the script is missing: the message of Python is on standard
// error, and the table says so.
std::optional<double> eager_speed(ModelConfig const& model, std::uint32_t steps,
                                  BenchOptions const& options) {
  auto job = nlohmann::json::parse(to_config_json(model));
  job["batch"] = options.batch;
  job["threads"] = options.threads;
  job["steps"] = steps;
  auto const command =
      "echo " + quoted(job.dump()) + " | " + quoted(options.python) + " " + quoted(options.eager);
  std::FILE* const pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return std::nullopt;
  std::string answer;
  std::array<char, 4096> some{};
  while (std::fgets(some.data(), some.size(), pipe) != nullptr) answer += some.data();
  if (::pclose(pipe) != 0) return std::nullopt;
  auto const json = nlohmann::json::parse(answer, nullptr, false);
  if (!json.is_object() || !json.contains("tokens_per_s")) return std::nullopt;
  return json["tokens_per_s"].get<double>();
}

Result<Figures> measure(std::string const& name, BenchOptions const& options) {
  TRY_ASSIGN(auto const model, parse_preset("--model", name));
  TRY_ASSIGN(auto const trainer, make_trainer(model, options));
  Figures figures{
      .model = name, .parameters = trainer->layout().elements(), .ours = {}, .eager = {}};
  bool compare = std::filesystem::exists(options.eager);
  TRY_ASSIGN(auto const steps, steps_of(*trainer, options));
  for (std::uint32_t i = 0; i < options.repeats; ++i) {
    fmt::print(stderr, "{}: measurement {} of {}, {} steps\n", name, i + 1, options.repeats, steps);
    TRY_ASSIGN(double const ours, our_speed(*trainer, steps));
    figures.ours.push_back(ours);
    if (!compare) continue;
    auto const eager = eager_speed(model, steps, options);
    if (eager) figures.eager.push_back(*eager);
    compare = eager.has_value();
  }
  return figures;
}

void print(std::vector<Figures> const& all, BenchOptions const& options) {
  Table table({"model", "parameters", "ours tokens/s", "eager tokens/s", "ratio"});
  Json models = Json::array();
  for (auto const& figures : all) {
    auto const ours = median(figures.ours).value_or(0);
    auto const eager = median(figures.eager);
    auto const shown = [](std::optional<double> value, int digits) {
      return value ? fmt::format("{:.{}f}", *value, digits) : std::string("-");
    };
    auto const ratio = eager ? std::optional(ours / *eager) : std::nullopt;
    table.add({figures.model, std::to_string(figures.parameters), shown(ours, 0), shown(eager, 0),
               shown(ratio, 2)});
    models.push_back({{"model", figures.model},
                      {"parameters", figures.parameters},
                      {"tokens_per_s", ours},
                      {"eager_tokens_per_s", eager ? Json(*eager) : Json()},
                      {"ratio", ratio ? Json(*ratio) : Json()}});
  }
  fmt::print("Training, fp32, batch {}, threads {}; medians of {} in turn\n{}", options.batch,
             options.threads, options.repeats, table.text());
  if (!options.json) return;
  Json const result{{"bench", "train"},
                    {"threads", options.threads},
                    {"batch_sequences", options.batch},
                    {"models", models}};
  fmt::print("{}\n", result.dump());
}

}  // namespace

int bench_train_command(int argc, char** argv) {
  CLI::App app{
      "Measures the training step on this CPU, beside PyTorch eager where Python has torch.\n\n"
      "  grapevine bench train --threads 2 --json",
      "grapevine bench train"};
  BenchOptions options;
  app.add_option("--model", options.models, "presets to measure")->capture_default_str();
  app.add_option("--threads", options.threads, "of both")
      ->check(CLI::Range(1U, 1024U))
      ->capture_default_str();
  app.add_option("--batch", options.batch, "sequences a step")
      ->check(CLI::Range(1U, 1024U))
      ->capture_default_str();
  app.add_option("--seconds", options.seconds, "about as long is each measurement")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  app.add_option("--repeats", options.repeats, "measurements of each, in turn")
      ->check(CLI::Range(1U, 100U))
      ->capture_default_str();
  app.add_option("--eager", options.eager, "the script that measures PyTorch")
      ->capture_default_str();
  app.add_option("--python", options.python, "the Python that runs it")->capture_default_str();
  app.add_flag("--json", options.json, "one JSON object as the last line");
  if (auto const code = parse_arguments(app, argc, argv)) return *code;

  std::vector<Figures> all;
  for (auto const& name : options.models) {
    auto figures = measure(name, options);
    if (!figures) return end_with(figures.error(), options.json);
    all.push_back(*std::move(figures));
  }
  print(all, options);
  return 0;
}

}  // namespace grapevine
