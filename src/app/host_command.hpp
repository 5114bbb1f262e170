// The `grapevine host` command: a bare libp2p host of the same code, no run, for diagnosis and
// interoperability. Main thread only.
#pragma once

namespace grapevine {

int host_command(int argc, char** argv);

}  // namespace grapevine
