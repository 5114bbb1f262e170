// ByteQueue: received bytes in order, in blocks whose size follows what really arrived. Owned by
// one stream. Bytes go in at the back and leave at the front; emptied, it holds no memory.
#pragma once

#include "grapevine/base/bytes.hpp"

#include <deque>

namespace grapevine {

class ByteQueue {
 public:
  void append(ByteView bytes);
  std::size_t read(MutableByteView into);  // bytes moved
  void clear();
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }

 private:
  std::deque<Bytes> blocks_;
  std::size_t front_read_ = 0;  // of the first block
  std::size_t size_ = 0;
};

}  // namespace grapevine
