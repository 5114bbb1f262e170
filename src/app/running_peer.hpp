// RunningPeer: the peer that runs on a home of this machine, as another command finds it: by the
// address that it left there. Blocking.
#pragma once

#include "app/http_client.hpp"

#include <nlohmann/json_fwd.hpp>

namespace grapevine {

// Where its status page is. Errc::not_a_home, or Errc::no_peer_runs when it has left no address.
[[nodiscard]] Result<Endpoint> status_endpoint(std::string const& home);
// Its /status. Errc::malformed when something else answers there.
[[nodiscard]] Result<nlohmann::json> fetch_status(Endpoint at);
// A peer that was killed leaves its address behind, where by now nobody or somebody else answers:
// Errc::no_peer_runs when `status` is not that of the peer of `home`.
Result<> check_is_of(std::string const& home, Result<nlohmann::json> const& status);

}  // namespace grapevine
