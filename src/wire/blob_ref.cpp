#include "grapevine/wire/blob_ref.hpp"

#include "grapevine/base/limits.hpp"
#include "grapevine/crypto/merkle.hpp"

namespace grapevine {

BlobRef blob_ref(ByteView bytes) {
  return {merkle_root(merkle_leaves(bytes, limits::blob_chunk_bytes)), bytes.size()};
}

}  // namespace grapevine
