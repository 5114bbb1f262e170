// Metrics: a snapshot in the Prometheus text format, version 0.0.4. Pure. Names begin with
// grapevine_ and end in their unit; no label ever names a peer, so the number of series is bounded
// whatever the swarm does.
#pragma once

#include "grapevine/node/snapshot.hpp"
#include "grapevine/status/resources.hpp"

#include <string>

namespace grapevine {

[[nodiscard]] std::string metrics_text(Snapshot const& snapshot, Resources const& resources,
                                       bool ready);

}  // namespace grapevine
