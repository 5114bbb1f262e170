#include "byte_queue_detail.hpp"

#include <algorithm>

namespace grapevine {
namespace {

// Small pieces share a block, so that a flood of one-byte frames costs little more than its bytes.
constexpr std::size_t block_bytes = 4096;

}  // namespace

void ByteQueue::append(ByteView bytes) {
  size_ += bytes.size();
  if (!blocks_.empty()) {
    auto& last = blocks_.back();
    auto const fits = std::min(bytes.size(), last.capacity() - last.size());
    last.insert(last.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(fits));
    bytes = bytes.subspan(fits);
  }
  if (bytes.empty()) return;
  auto& block = blocks_.emplace_back();
  block.reserve(std::max(bytes.size(), size_ <= 256 ? size_ : block_bytes));
  block.assign(bytes.begin(), bytes.end());
}

std::size_t ByteQueue::read(MutableByteView into) {
  std::size_t moved = 0;
  while (moved < into.size() && !blocks_.empty()) {
    auto const& block = blocks_.front();
    auto const count = std::min(into.size() - moved, block.size() - front_read_);
    std::memcpy(into.data() + moved, block.data() + front_read_, count);
    moved += count;
    front_read_ += count;
    if (front_read_ < block.size()) break;
    blocks_.pop_front();
    front_read_ = 0;
  }
  size_ -= moved;
  return moved;
}

void ByteQueue::clear() {
  blocks_.clear();
  front_read_ = 0;
  size_ = 0;
}

}  // namespace grapevine
