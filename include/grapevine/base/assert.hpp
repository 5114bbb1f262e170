// ASSERT: a statement about our own code, on in every build. What the world does wrong is an Error.
#pragma once

namespace grapevine {
[[noreturn]] void assertion_failed(char const* expression, char const* file, int line);
}

#define ASSERT(expression)                                                             \
  do {                                                                                 \
    if (!(expression)) ::grapevine::assertion_failed(#expression, __FILE__, __LINE__); \
  } while (false)
