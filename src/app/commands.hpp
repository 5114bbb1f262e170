// The commands of the program: each takes its own arguments (the first is its name) and returns
// the exit code. Main thread only.
#pragma once

namespace grapevine {

int demo_command(int argc, char** argv);
int up_command(int argc, char** argv);
int status_command(int argc, char** argv);
int pause_command(int argc, char** argv);
int resume_command(int argc, char** argv);
int whoami_command(int argc, char** argv);
int key_command(int argc, char** argv);
int bench_command(int argc, char** argv);
int explain_command(int argc, char** argv);

}  // namespace grapevine
