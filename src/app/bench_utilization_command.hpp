// `grapevine bench utilization`: which part of the time a swarm trains, from the machines that
// decide in a node, in virtual time, beside the published figures. Ends with 1 when one of the
// published table is further than a point from its figure.
#pragma once

namespace grapevine {

int bench_utilization_command(int argc, char** argv);

}  // namespace grapevine
