// `grapevine pause`, `resume`: a word to the peer that runs on a home of this machine.

#include "app/command_line.hpp"
#include "app/commands.hpp"
#include "app/home.hpp"
#include "app/pause_words.hpp"
#include "app/running_peer.hpp"
#include "grapevine/base/limits.hpp"

#include <fmt/core.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

namespace grapevine {
namespace {

using Json = nlohmann::json;

constexpr Duration patience = 30s;  // its disk may be busy

// The token is shown to nobody but the peer whose home it is from.
Result<Json> tell(std::string const& home, std::string_view command) {
  TRY_ASSIGN(auto const at, status_endpoint(home));
  TRY(check_is_of(home, fetch_status(at)));
  TRY_ASSIGN(auto const token,
             read_text_file(home + "/control.token", limits::small_text_file_bytes_max));
  TRY_ASSIGN(auto const answer,
             http_post(at, fmt::format("/control/{}", command), token, patience));
  auto json = Json::parse(answer.body, nullptr, false);
  if (!json.is_object()) return fail(Errc::malformed, at.text() + " is not a Grapevine peer");
  if (answer.status != 200) return fail(Errc::refused, json.value("error", at.text()));
  return json;
}

int control_command(std::string_view command, char const* help, int argc, char** argv) {
  CLI::App app{help, fmt::format("grapevine {}", command)};
  std::string home = default_home();
  bool json = false;
  app.add_option("--home", home, "home directory of a peer on this machine")->capture_default_str();
  app.add_flag("--json", json, "its answer as one JSON object");
  if (auto const code = parse_arguments(app, argc, argv)) return *code;
  auto const answer = tell(home, command);
  if (!answer) return end_with(answer.error(), json);
  try {
    fmt::print("{}\n", json ? answer->dump(-1, ' ', false, Json::error_handler_t::replace)
                            : pause_words(*answer));
  } catch (Json::exception const& error) {
    return end_with(Error(Errc::malformed, error.what()), json);
  }
  return 0;
}

}  // namespace

int pause_command(int argc, char** argv) {
  return control_command("pause",
                         "Has a running peer rest until `grapevine resume`, also across restarts: "
                         "it trains and pulls\nnothing, keeps what it has learned, and the others "
                         "see a planned absence.",
                         argc, argv);
}

int resume_command(int argc, char** argv) {
  return control_command(
      "resume", "Ends `grapevine pause`: the peer catches up and takes part again.", argc, argv);
}

}  // namespace grapevine
