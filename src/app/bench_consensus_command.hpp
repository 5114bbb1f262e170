// `grapevine bench consensus`: how far apart the peers of a swarm are for each way of mixing,
// beside the formula of the method's paper. Ends with 1 when a figure misses its formula.
#pragma once

namespace grapevine {

int bench_consensus_command(int argc, char** argv);

}  // namespace grapevine
