#include "app/command_line.hpp"
#include "app/commands.hpp"
#include "app/home.hpp"
#include "app/pause_words.hpp"
#include "app/running_peer.hpp"
#include "app/table.hpp"
#include "grapevine/base/log.hpp"

#include <fmt/core.h>
#include <unistd.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <chrono>
#include <thread>

namespace grapevine {

namespace {

using Json = nlohmann::json;

// "http://HOST:PORT/…" or "HOST:PORT"; nothing given: the peer that runs on this home.
Result<Endpoint> endpoint_of(std::string_view url, std::string const& home) {
  if (url.empty()) return status_endpoint(home);
  if (url.starts_with("http://")) url.remove_prefix(7);
  return parse_endpoint("--url", url.substr(0, url.find('/')));
}

std::string text_or(Json const& json, char const* key) {
  return json[key].is_string() ? printable(json[key].get<std::string>()) : "-";
}

std::string number_or(Json const& json, char const* key, int digits) {
  return json[key].is_number() ? fmt::format("{:.{}f}", json[key].get<double>(), digits) : "-";
}

void print_peers(Json const& peers) {
  Table table({"peer", "state", "rounds", "loss", "tokens/s", "rtt ms", "in", "out"});
  for (auto const& peer : peers)
    table.add({text_or(peer, "name"), text_or(peer, "state"), number_or(peer, "round", 0),
               number_or(peer, "loss", 3), number_or(peer, "tokens_per_s", 0),
               number_or(peer, "rtt_ms", 1), bytes_text(peer["bytes_in"].get<std::uint64_t>()),
               bytes_text(peer["bytes_out"].get<std::uint64_t>())});
  fmt::print("{}", table.text());
}

std::string caps_words(Json const& caps) {
  auto const bytes = [&caps](char const* key) { return caps.at(key).get<std::uint64_t>(); };
  std::string words;
  if (caps.at("up_bytes_per_s").is_number())
    words += fmt::format(" sends at most {}/s;", bytes_text(bytes("up_bytes_per_s")));
  if (caps.at("down_bytes_per_s").is_number())
    words += fmt::format(" receives at most {}/s;", bytes_text(bytes("down_bytes_per_s")));
  if (caps.at("month_bytes_max").is_number())
    words += fmt::format(" {} of {} this month;", bytes_text(bytes("month_bytes")),
                         bytes_text(bytes("month_bytes_max")));
  return words.empty() ? words : fmt::format("allowed:{}\n", words.substr(0, words.size() - 1));
}

// Throws Json::exception where the page is not what its schema says.
void print_status(Json const& json) {
  auto const& round = json.at("round");
  auto const& training = json.at("training");
  fmt::print("{} ({}): {}\n", text_or(json.at("peer"), "name"), text_or(json.at("peer"), "id"),
             text_or(json, "state"));
  if (json.at("pause").is_object()) fmt::print("{}\n", pause_words(json));
  if (json.at("run").is_object())
    fmt::print("run {} ({}), model {}\n", text_or(json["run"], "name"), text_or(json["run"], "id"),
               text_or(json["run"].at("model"), "preset"));
  bool const trained = training.value("loss", 0.0) > 0;
  fmt::print("{} done, step {} of {}; loss {}, held out {}; {} tokens/s on {}\n",
             count_text(round.at("current").get<std::uint64_t>(), "round"),
             number_or(round, "inner_step", 0), number_or(round, "inner_steps", 0),
             trained ? number_or(training, "loss", 3) : "-", number_or(training, "eval_loss", 3),
             number_or(training, "tokens_per_s", 0), text_or(training, "device"));
  for (auto const& missing : round.at("mix2").at("missing"))
    fmt::print("missing from the last mix: {} ({})\n",
               missing.at("peer") == json["peer"].at("id") ? "this peer's own part"
                                                           : text_or(missing, "peer"),
               text_or(missing, "reason"));
  fmt::print("{}", caps_words(json.at("network").at("caps")));
  print_peers(json.at("peers"));
  for (auto const& error : json.at("errors"))
    fmt::print("{} ({}): {}\n", text_or(error, "text"),
               count_text(error.at("count").get<std::uint64_t>(), "time"), text_or(error, "hint"));
}

// `home` when the address was found there, or empty.
Result<> show(Endpoint at, std::string const& home, bool json, bool again) {
  auto const status = fetch_status(at);
  if (!home.empty()) {
    TRY(check_is_of(home, status));
  }
  TRY(status);
  if (again && ::isatty(STDOUT_FILENO) != 0) fmt::print("\x1b[H\x1b[2J");
  try {
    if (json)
      fmt::print("{}\n", status->dump(-1, ' ', false, Json::error_handler_t::replace));
    else
      print_status(*status);
  } catch (Json::exception const& error) {
    return fail(Errc::malformed, at.text() + ": " + error.what());
  }
  return {};
}

}  // namespace

int status_command(int argc, char** argv) {
  CLI::App app{
      "Shows what a running peer is doing.\n\n"
      "  grapevine status                                the peer on the default home\n"
      "  grapevine status --url http://127.0.0.1:8080    any peer whose page can be reached",
      "grapevine status"};
  std::string url, home = default_home();
  bool json = false, watch = false;
  app.add_option("--url", url, "status page of the peer");
  app.add_option("--home", home, "home directory of a peer on this machine")->capture_default_str();
  auto* as_json = app.add_flag("--json", json, "the page itself, as one JSON object");
  app.add_flag("--watch", watch, "again every second, until Ctrl-C")->excludes(as_json);
  if (auto const code = parse_arguments(app, argc, argv)) return *code;

  auto const at = endpoint_of(url, home);
  if (!at) return end_with(at.error(), json);
  for (;;) {
    auto const shown = show(*at, url.empty() ? home : "", json, watch);
    if (!shown) return end_with(shown.error(), json);
    if (!watch) return 0;
    std::fflush(stdout);
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
}

}  // namespace grapevine
