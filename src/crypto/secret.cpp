#include "grapevine/crypto/secret.hpp"

#include <sodium.h>

namespace grapevine {

bool same_secret(ByteView a, ByteView b) {
  return a.size() == b.size() && sodium_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace grapevine
