// A pause in plain words, for the person in front of `grapevine up`, `status` and `pause`.
#pragma once

#include "grapevine/node/snapshot.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace grapevine {

// "Paused until `grapevine resume`."; before the round is ended: "Will pause …". `state` as in
// /status.
[[nodiscard]] std::string pause_words(std::string_view state, Snapshot::Pause const& pause);
// The same from an object with the fields `state` and `pause`, which may be null. Throws
// Json::exception where a field is not what the schema says.
[[nodiscard]] std::string pause_words(nlohmann::json const& status);

}  // namespace grapevine
