// `grapevine sample`: text from the newest sound checkpoint of a home, also while a peer runs
// there.
#pragma once

namespace grapevine {

int sample_command(int argc, char** argv);

}  // namespace grapevine
