#include "app/running_peer.hpp"

#include "app/command_line.hpp"
#include "app/home.hpp"
#include "grapevine/base/limits.hpp"
#include "grapevine/wire/peer_id.hpp"

#include <nlohmann/json.hpp>

namespace grapevine {
namespace {

using Json = nlohmann::json;

constexpr Duration patience = 5s;

}  // namespace

Result<Endpoint> status_endpoint(std::string const& home) {
  TRY(check_home(home));
  auto const saved =
      read_text_file(home + "/" + status_address_path, limits::small_text_file_bytes_max);
  if (!saved) return fail(Errc::no_peer_runs, home);
  return parse_endpoint(status_address_path, *saved);
}

Result<Json> fetch_status(Endpoint at) {
  TRY_ASSIGN(auto const answer, http_get(at, "/status", patience));
  auto json = Json::parse(answer.body, nullptr, false);
  if (answer.status != 200 || !json.is_object() || json.value("schema", "") != "grapevine.status/1")
    return fail(Errc::malformed, at.text() + " is not a Grapevine status page");
  return json;
}

Result<> check_is_of(std::string const& home, Result<Json> const& status) {
  if (!status) return fail(Errc::no_peer_runs, home + ": " + status.error().message());
  TRY_ASSIGN(auto const identity, read_identity(home));
  auto const own = PeerId::from_ed25519(identity.public_key().raw()).text();
  auto const peer = status->find("peer");
  if (peer == status->end() || !peer->is_object() || peer->value("id", Json()) != Json(own))
    return fail(Errc::no_peer_runs, home + ": another peer has its status page's address now");
  return {};
}

}  // namespace grapevine
