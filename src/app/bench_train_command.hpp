// `grapevine bench train`: tokens a second of our training step, beside PyTorch eager's on the same
// model, batch and threads where Python has torch; both in turn, because machines change speed.
#pragma once

namespace grapevine {

int bench_train_command(int argc, char** argv);

}  // namespace grapevine
