// libsodium, ready to use: every file here that calls it calls use_sodium() first. Any thread.
#pragma once

#include "grapevine/base/assert.hpp"

#include <sodium.h>

namespace grapevine {

inline void use_sodium() {
  static bool const ready = sodium_init() >= 0;  // initialised once, by whichever thread is first
  ASSERT(ready);
}

}  // namespace grapevine
