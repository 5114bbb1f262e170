#include "app/sample_command.hpp"

#include "app/command_line.hpp"
#include "app/home.hpp"
#include "grapevine/base/log.hpp"
#include "grapevine/torch/torch_trainer.hpp"
#include "grapevine/train/checkpoint.hpp"

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>

namespace grapevine {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t file_bytes_max = std::size_t{16} * 1024 * 1024 * 1024;
constexpr std::uint32_t sample_tokens_max = 100'000;

struct TrainedModel {
  ModelConfig config;
  std::vector<float> parameters;
};

std::vector<std::uint64_t> rounds_in(fs::path const& folder) {
  std::vector<std::uint64_t> rounds;
  std::error_code ec;
  for (auto at = fs::directory_iterator(folder, ec); !ec && at != fs::directory_iterator();
       at.increment(ec)) {
    auto const name = at->path().filename().string();
    std::uint64_t round = 0;
    auto const parsed = std::from_chars(name.data(), name.data() + name.size(), round);
    if (parsed.ec == std::errc() && parsed.ptr == name.data() + name.size())
      rounds.push_back(round);
  }
  std::ranges::sort(rounds, std::greater{});
  return rounds;
}

Result<TrainedModel> read_model(fs::path const& folder) {
  std::map<std::string, Bytes> files;
  std::error_code ec;
  for (auto at = fs::directory_iterator(folder, ec); !ec && at != fs::directory_iterator();
       at.increment(ec)) {
    TRY_ASSIGN(auto const text, read_text_file(at->path().string(), file_bytes_max));
    append(files[at->path().filename().string()], as_bytes(text));
  }
  auto const config_file = files.find("config.json");
  if (config_file == files.end()) return fail(Errc::checkpoint_corrupt, "config.json: missing");
  TRY_ASSIGN(auto const config, from_config_json(as_text(config_file->second)));
  TRY_ASSIGN(auto const layout, model_layout(config));
  TRY_ASSIGN(auto checkpoint, parse_checkpoint(files, layout));
  return TrainedModel{config, std::move(checkpoint.parameters)};
}

Result<TrainedModel> newest_model(std::string const& home) {
  TRY(check_home(home));
  auto const folder = fs::path(home) / "checkpoints";
  auto const rounds = rounds_in(folder);
  for (auto const round : rounds) {
    auto const path = folder / std::to_string(round);
    auto model = read_model(path);
    if (model) return model;
    log_warn("{}: {}; trying the one before", path.string(), model.error().message());
  }
  if (!rounds.empty())
    return fail(Errc::checkpoint_corrupt, folder.string() + ": none of them is sound");
  TRY(read_identity(home));
  return fail(Errc::no_checkpoint, home);
}

Result<> sample(std::string const& home, SampleOptions const& options) {
  TRY_ASSIGN(auto const model, newest_model(home));
  TRY_ASSIGN(auto const text, sample_text(model.config, model.parameters, options));
  fmt::print("{}\n", text);
  return {};
}

}  // namespace

int sample_command(int argc, char** argv) {
  CLI::App app{
      "Text from the trained model of a home, its newest checkpoint.\n\n"
      "  grapevine sample --home DIR --prompt 'It is said that'",
      "grapevine sample"};
  std::string home = default_home();
  SampleOptions options;
  app.add_option("--home", home, "home directory of the peer")->capture_default_str();
  app.add_option("--prompt", options.prompt, "what the text begins with");
  app.add_option("--tokens", options.tokens, "how much to add, in bytes of text")
      ->check(CLI::Range(std::uint32_t{0}, sample_tokens_max))
      ->capture_default_str();
  app.add_option("--seed", options.seed, "the same seed gives the same text")
      ->capture_default_str();
  app.add_option("--temperature", options.temperature, "0: always the likeliest")
      ->check(CLI::Range(0.0, 10.0))
      ->capture_default_str();
  if (auto const code = parse_arguments(app, argc, argv)) return *code;

  auto const done = sample(home, options);
  return done ? 0 : end_with(done.error());
}

}  // namespace grapevine
