// The JSON that the status server answers with: schema grapevine.status/1 and its companions. Pure.
// Field names are a contract with people's scripts: add freely, rename or drop never. Numbers'
// names end in their unit; NaN and infinity become null.
#pragma once

#include "grapevine/node/snapshot.hpp"
#include "grapevine/status/resources.hpp"

#include <span>
#include <string>
#include <string_view>

namespace grapevine {

[[nodiscard]] std::string status_json(Snapshot const& snapshot, Resources const& resources);
[[nodiscard]] std::string history_json(std::span<RoundRecord const> rounds, std::uint64_t since);
[[nodiscard]] std::string ready_json(Snapshot const& snapshot, bool ready);
// The answer to a command that was carried out.
[[nodiscard]] std::string command_json(std::string_view command, Snapshot const& after);
[[nodiscard]] std::string error_json(std::string_view text);

}  // namespace grapevine
