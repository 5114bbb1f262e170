// OsRandom: the real Random, getrandom(2). Any thread.
#pragma once

#include "grapevine/base/random.hpp"

namespace grapevine {

class OsRandom final : public Random {
 public:
  void fill(MutableByteView out) override;
};

}  // namespace grapevine
