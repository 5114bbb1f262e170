// BlobRef: the name of some bytes: Merkle root and length. Whoever holds them can serve them.
#pragma once

#include "grapevine/crypto/hash.hpp"

#include <cstdint>

namespace grapevine {

struct BlobRef {
  Hash root;
  std::uint64_t bytes = 0;
  auto operator<=>(BlobRef const&) const = default;
};

// The ref of `bytes` in chunks of limits::blob_chunk_bytes.
[[nodiscard]] BlobRef blob_ref(ByteView bytes);

}  // namespace grapevine
