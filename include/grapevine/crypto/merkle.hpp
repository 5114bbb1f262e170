// The Merkle tree over the chunks of a blob, in the shape of RFC 6962 section 2.1: a leaf is
// SHA-256(0x00 ‖ chunk), a node SHA-256(0x01 ‖ left ‖ right), the left subtree the largest power of
// two that is smaller than the whole. The root names the blob. An empty blob has one empty chunk.
#pragma once

#include "grapevine/crypto/hash.hpp"

#include <span>
#include <vector>

namespace grapevine {

[[nodiscard]] Hash merkle_leaf(ByteView chunk);
[[nodiscard]] Hash merkle_root(std::span<Hash const> leaves);  // leaves not empty
[[nodiscard]] std::vector<Hash> merkle_leaves(ByteView blob, std::size_t chunk_bytes);

}  // namespace grapevine
