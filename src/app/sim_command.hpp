// `grapevine sim`: seeds of the simulated world with faults.
#pragma once

namespace grapevine {

int sim_command(int argc, char** argv);

}  // namespace grapevine
