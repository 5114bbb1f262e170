#include "grapevine/runtime/os_random.hpp"

#include "grapevine/base/assert.hpp"

#include <sys/random.h>

#include <cerrno>

namespace grapevine {

void OsRandom::fill(MutableByteView out) {
  while (!out.empty()) {
    ssize_t const got = ::getrandom(out.data(), out.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    ASSERT(got > 0);  // without entropy no key or nonce is safe
    out = out.subspan(static_cast<std::size_t>(got));
  }
}

}  // namespace grapevine
