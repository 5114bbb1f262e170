#include "grapevine/base/assert.hpp"

#include <cstdio>
#include <cstdlib>

namespace grapevine {

void assertion_failed(char const* expression, char const* file, int line) {
  std::fprintf(stderr, "grapevine: internal error at %s:%d: %s\n", file, line, expression);
  std::abort();
}

}  // namespace grapevine
