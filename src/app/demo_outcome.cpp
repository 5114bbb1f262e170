#include "app/demo_outcome.hpp"

#include "app/home.hpp"
#include "app/table.hpp"
#include "grapevine/base/limits.hpp"
#include "grapevine/base/log.hpp"
#include "grapevine/torch/torch_trainer.hpp"
#include "grapevine/train/checkpoint.hpp"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace grapevine {

namespace {

constexpr std::size_t model_bytes_max = 8ull * 1024 * 1024 * 1024;
constexpr std::uint32_t sample_tokens = 240;

struct LoadedModel {
  ModelConfig config;
  std::vector<float> parameters;
};

Result<LoadedModel> load_model(std::string const& checkpoint) {
  LoadedModel model;
  TRY_ASSIGN(auto const config,
             read_text_file(checkpoint + "/config.json", limits::model_config_json_max));
  TRY_ASSIGN(model.config, from_config_json(config));
  TRY_ASSIGN(auto const layout, model_layout(model.config));
  TRY_ASSIGN(auto const file, read_text_file(checkpoint + "/model.safetensors", model_bytes_max));
  TRY_ASSIGN(model.parameters, read_model_file(as_bytes(file), layout));
  return model;
}

Result<double> loss_of(LoadedModel const& model, std::vector<Dataset> const& data) {
  std::vector<Dataset const*> all;
  for (auto const& share : data) all.push_back(&share);
  TRY_ASSIGN(auto const report, evaluate_model(model.config, model.parameters, all));
  return static_cast<double>(report.loss);
}

// Text of a small model may hold anything; a terminal gets lines of printable characters.
std::string for_terminal(std::string const& text) {
  std::string shown = "    ";
  for (char const c : text) {
    if (c == '\n')
      shown += "\n    ";
    else
      shown += printable(std::string_view(&c, 1));
  }
  return shown;
}

}  // namespace

DemoOutcome gather_outcome(DemoOptions const& options, std::vector<DemoPeer>& peers) {
  DemoOutcome outcome;
  double last = 0;
  for (auto& peer : peers) {
    outcome.loss_first = std::max(outcome.loss_first, peer.first_loss());
    if (peer.killed()) {
      outcome.bytes_sent += peer.figures().bytes_sent;
      outcome.bytes_received += peer.figures().bytes_received;
      continue;
    }
    ++outcome.survivors;
    auto const summary = peer.summary();
    if (!summary || peer.exit_code() != 0 || summary->rounds < options.rounds ||
        !summary->loss_last)
      continue;
    ++outcome.survivors_finished;
    last += *summary->loss_last;
    outcome.tokens_total += summary->tokens_total;
    outcome.cpu_train_s += peer.figures().cpu_train_s;
    outcome.cpu_node_s += peer.figures().cpu_node_s;
    outcome.bytes_sent += summary->bytes_sent;
    outcome.bytes_received += summary->bytes_received;
    outcome.peers.push_back(*summary);
  }
  if (outcome.peers.empty()) return outcome;
  outcome.loss_last = last / static_cast<double>(outcome.peers.size());
  outcome.checkpoint = outcome.peers.front().checkpoint;
  return outcome;
}

Result<> judge_models(DemoOutcome& outcome, std::string const& alone_checkpoint,
                      std::vector<std::string> const& shares) {
  TRY_ASSIGN(auto const swarm, load_model(outcome.checkpoint));
  TRY_ASSIGN(auto const alone, load_model(alone_checkpoint));
  std::vector<Dataset> data;
  for (auto const& share : shares) {
    TRY_ASSIGN(auto opened, Dataset::open({.path = share,
                                           .vocab_size = swarm.config.vocab_size,
                                           .context = swarm.config.context,
                                           .batch = 1}));
    data.push_back(std::move(opened));
  }
  TRY_ASSIGN(outcome.eval_loss, loss_of(swarm, data));
  TRY_ASSIGN(outcome.loss_alone, loss_of(alone, data));
  SampleOptions sample;
  sample.prompt = "The ";
  sample.tokens = sample_tokens;
  TRY_ASSIGN(outcome.sample, sample_text(swarm.config, swarm.parameters, sample));
  return {};
}

std::string outcome_text(DemoOutcome const& outcome) {
  auto text = fmt::format(
      "\nTraining loss fell from {:.3f} at the start to {:.3f} in the last round.\n"
      "On held-out text of all peers: {:.3f} trained together, {:.3f} trained alone for as long.\n"
      "{} tokens, {} sent, {} received, {:.0f} s.\n"
      "Taking part cost {:.1f} s of processor time beside {:.1f} s of training.\n",
      outcome.loss_first, outcome.loss_last, outcome.eval_loss, outcome.loss_alone,
      outcome.tokens_total, bytes_text(outcome.bytes_sent), bytes_text(outcome.bytes_received),
      outcome.seconds, outcome.cpu_node_s, outcome.cpu_train_s);
  if (!outcome.sample.empty())
    text += fmt::format("\nWhat the model writes by now:\n{}\n", for_terminal(outcome.sample));
  if (!outcome.checkpoint.empty())
    text += fmt::format("\nThe model is in {}\n", outcome.checkpoint);
  return text;
}

std::string outcome_json(DemoOptions const& options, DemoOutcome const& outcome) {
  using Json = nlohmann::ordered_json;
  auto peers = Json::array();
  for (auto const& peer : outcome.peers)
    peers.push_back({{"id", peer.id},
                     {"rounds", peer.rounds},
                     {"loss_last", *peer.loss_last},
                     {"participants_last", peer.participants_last}});
  Json const object{{"peers", options.peers},
                    {"rounds", options.rounds},
                    {"killed", options.kill},
                    {"survivors_finished", outcome.survivors_finished},
                    {"loss_first", outcome.loss_first},
                    {"loss_last", outcome.loss_last},
                    {"loss_alone", outcome.loss_alone},
                    {"eval_loss", outcome.eval_loss},
                    {"tokens_total", outcome.tokens_total},
                    {"bytes_sent", outcome.bytes_sent},
                    {"bytes_received", outcome.bytes_received},
                    {"seconds", outcome.seconds},
                    {"cpu_train_s", outcome.cpu_train_s},
                    {"cpu_node_s", outcome.cpu_node_s},
                    {"peers_detail", std::move(peers)},
                    {"sample", outcome.sample},
                    {"checkpoint", outcome.checkpoint},
                    {"home", options.home}};
  return object.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace grapevine
