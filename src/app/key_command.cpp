#include "app/command_line.hpp"
#include "app/commands.hpp"
#include "app/home.hpp"
#include "grapevine/node/identity_file.hpp"
#include "grapevine/runtime/os_random.hpp"
#include "grapevine/wire/multibase.hpp"
#include "grapevine/wire/peer_id.hpp"

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <iostream>

namespace grapevine {

namespace {

constexpr std::size_t key_text_max = 4096;

// The home gets its key only when it has none: a peer's name is not replaced by accident.
Result<> keep(std::string const& home, Identity const& identity) {
  TRY_ASSIGN(auto const storage, open_home(home));
  if (storage->exists("identity.key"))
    return fail(Errc::usage, home + " has a key already; move identity.key away first");
  TRY(save_identity(*storage, identity));
  fmt::print("{}\n", PeerId::from_ed25519(identity.public_key().raw()).text());
  return {};
}

Result<> export_key(std::string const& home) {
  TRY_ASSIGN(auto const identity, read_identity(home));
  fmt::print("{}\n", to_base64(identity.protobuf()));
  return {};
}

Result<> import_key(std::string const& home) {
  std::string text;
  std::cin >> text;
  if (text.empty()) return fail(Errc::bad_key, "standard input: empty");
  if (text.size() > key_text_max) return fail(Errc::bad_key, "standard input: too long");
  auto const bytes = from_base64(text);
  if (!bytes) return fail(Errc::bad_key, "standard input: " + bytes.error().detail());
  auto const identity = Identity::from_protobuf(*bytes);
  if (!identity) return fail(Errc::bad_key, "standard input: " + identity.error().detail());
  return keep(home, *identity);
}

Result<> new_key(std::string const& home) {
  OsRandom random;
  return keep(home, Identity::generate(random));
}

}  // namespace

int key_command(int argc, char** argv) {
  CLI::App app{
      "The key that this peer is known by: HOME/identity.key. `up` makes one by itself.\n"
      "The exported text is the secret: base64 of libp2p's private key, as other tools use it.\n\n"
      "  grapevine key export >key.txt          keep it somewhere safe\n"
      "  grapevine key import --home NEW <key.txt",
      "grapevine key"};
  app.require_subcommand(1);
  std::string home = default_home();
  struct Action {
    char const* name;
    char const* text;
    Result<> (*run)(std::string const&);
  };
  for (auto const& action : {Action{"new", "make a key in an empty home", new_key},
                             Action{"export", "print the key", export_key},
                             Action{"import", "read a key from standard input", import_key}})
    app.add_subcommand(action.name, action.text)
        ->add_option("--home", home, "home directory of the peer")
        ->capture_default_str();
  if (auto const code = parse_arguments(app, argc, argv)) return *code;

  auto const name = app.get_subcommands().front()->get_name();
  auto const run = name == "new" ? new_key : name == "export" ? export_key : import_key;
  auto const done = run(home);
  return done ? 0 : end_with(done.error());
}

}  // namespace grapevine
