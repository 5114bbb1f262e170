// The five doors together, as the node receives them. References: their owner (the program or the
// simulated world) outlives the node.
#pragma once

#include "grapevine/base/random.hpp"
#include "grapevine/runtime/clock.hpp"
#include "grapevine/runtime/network.hpp"
#include "grapevine/runtime/storage.hpp"
#include "grapevine/runtime/task_group.hpp"
#include "grapevine/runtime/worker.hpp"

namespace grapevine {

struct Doors {
  Executor executor;  // the loop thread's
  Clock& clock;
  Random& random;
  Network& network;
  Storage& storage;
  Worker& train;  // the trainer's thread
  Worker& heavy;  // hashing, decoding, mixing, writing files
};

}  // namespace grapevine
