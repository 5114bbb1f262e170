#include "grapevine/crypto/merkle.hpp"

#include "grapevine/base/assert.hpp"
#include "sha256_lanes_detail.hpp"

#include <algorithm>
#include <bit>

namespace grapevine {
namespace {

// The first byte keeps a node from being passed off as a leaf.
constexpr std::array<std::uint8_t, 1> leaf_prefix = {0x00};
constexpr std::array<std::uint8_t, 1> node_prefix = {0x01};

Hash subtree_root(Sha256& hasher, std::span<Hash const> leaves) {
  if (leaves.size() == 1) return leaves.front();
  std::size_t const left_leaves = std::bit_floor(leaves.size() - 1);
  Hash const left = subtree_root(hasher, leaves.first(left_leaves));
  Hash const right = subtree_root(hasher, leaves.subspan(left_leaves));
  hasher.update(node_prefix);
  hasher.update(left.view());
  hasher.update(right.view());
  return hasher.finish();
}

// Fewer chunks than this are hashed sooner one by one.
constexpr std::size_t lanes_worth = 8;

// The leaves of as many whole chunks as pay side by side; how many bytes that took.
std::size_t leaves_in_lanes(ByteView blob, std::size_t chunk_bytes, std::vector<Hash>& leaves) {
  auto const count = std::min(blob.size() / chunk_bytes, sha256_lanes);
  if (count < lanes_worth) return 0;
  std::array<ByteView, sha256_lanes> chunks;
  for (std::size_t i = 0; i < count; ++i) chunks[i] = blob.subspan(i * chunk_bytes, chunk_bytes);
  auto const begun = leaves.size();
  leaves.resize(begun + count);
  sha256_in_lanes(leaf_prefix[0], std::span(chunks).first(count), std::span(leaves).subspan(begun));
  return count * chunk_bytes;
}

}  // namespace

Hash merkle_leaf(ByteView chunk) {
  Sha256 hasher;
  hasher.update(leaf_prefix);
  hasher.update(chunk);
  return hasher.finish();
}

Hash merkle_root(std::span<Hash const> leaves) {
  ASSERT(!leaves.empty());
  Sha256 hasher;
  return subtree_root(hasher, leaves);
}

std::vector<Hash> merkle_leaves(ByteView blob, std::size_t chunk_bytes) {
  ASSERT(chunk_bytes > 0);
  std::vector<Hash> leaves;
  leaves.reserve(blob.size() / chunk_bytes + 1);
  if (sha256_lanes_usable() && chunk_bytes >= sha256_lanes_bytes_min)
    while (auto const done = leaves_in_lanes(blob, chunk_bytes, leaves)) blob = blob.subspan(done);
  if (blob.empty() && !leaves.empty()) return leaves;
  do {
    auto const chunk = blob.first(std::min(blob.size(), chunk_bytes));
    leaves.push_back(merkle_leaf(chunk));
    blob = blob.subspan(chunk.size());
  } while (!blob.empty());
  return leaves;
}

}  // namespace grapevine
