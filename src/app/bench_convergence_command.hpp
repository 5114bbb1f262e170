#pragma once

namespace grapevine {

int bench_convergence_command(int argc, char** argv);

}  // namespace grapevine
