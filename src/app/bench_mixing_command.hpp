// `grapevine bench mixing`: the time and the bytes of averaging large vectors over real processes
// on loopback, beside what this machine's memory and loopback allow in the same run.
#pragma once

namespace grapevine {

int bench_mixing_command(int argc, char** argv);

}  // namespace grapevine
