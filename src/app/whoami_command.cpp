#include "app/command_line.hpp"
#include "app/commands.hpp"
#include "app/home.hpp"
#include "grapevine/wire/peer_id.hpp"

#include <fmt/core.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

namespace grapevine {

int whoami_command(int argc, char** argv) {
  CLI::App app{"Prints the id that other peers know this home by.", "grapevine whoami"};
  std::string home = default_home();
  bool json = false;
  app.add_option("--home", home, "home directory of the peer")->capture_default_str();
  app.add_flag("--json", json, "one JSON object");
  if (auto const code = parse_arguments(app, argc, argv)) return *code;

  auto const identity = read_identity(home);
  if (!identity) return end_with(identity.error(), json);
  auto const peer = PeerId::from_ed25519(identity->public_key().raw());
  if (json) {
    nlohmann::ordered_json const object{{"peer", peer.text()},
                                        {"cid", peer.cid()},
                                        {"public_key", to_hex(identity->public_key().raw())},
                                        {"home", home}};
    fmt::print("{}\n", object.dump());
  } else {
    fmt::print("{}\n", peer.text());
  }
  return 0;
}

}  // namespace grapevine
