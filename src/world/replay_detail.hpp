// A round computed once more from what is on the disks and what a witness has pulled, in double
// precision and with nothing of the node's own arithmetic.
#pragma once

#include "grapevine/world/swarm.hpp"

#include <optional>
#include <string>

namespace grapevine::world {

// Of one entry in a machine's ledger: empty when the state after it follows from the state before
// and the inputs it names, nothing when not all of these are known. All shards of all inputs must
// have been used.
[[nodiscard]] std::optional<std::string> replay_global(Swarm& swarm, std::size_t machine,
                                                       LedgerEntry const& entry);

// Of an exchange, from both entries: the states after it must follow from the mean of both states
// before and one and the same mean of the outer gradients, so that the sum of the swarm is kept.
[[nodiscard]] std::optional<std::string> replay_pair(Swarm& swarm, std::size_t machine,
                                                     LedgerEntry const& entry, std::size_t other,
                                                     LedgerEntry const& theirs);

}  // namespace grapevine::world
