// Channel: a bounded queue between coroutines of one loop. A full channel makes its writer wait,
// which is how back-pressure travels; there is no unbounded form. Loop thread only.
#pragma once

#include "grapevine/base/assert.hpp"
#include "grapevine/runtime/gate.hpp"

#include <deque>
#include <optional>

namespace grapevine {

template <class T>
class Channel {
 public:
  explicit Channel(std::size_t capacity) : capacity_(capacity) { ASSERT(capacity > 0); }

  // Waits for room; false when the channel is closed (the item is dropped).
  Awaitable<bool> push(T item) {
    while (full() && !closed_) co_await changed_.wait();
    co_return try_push(std::move(item));
  }
  // False when it is full or closed.
  bool try_push(T item) {
    if (closed_ || full()) return false;
    items_.push_back(std::move(item));
    changed_.notify_all();
    return true;
  }
  // Waits for an item; nothing when the channel is closed and empty.
  Awaitable<std::optional<T>> pop() {
    while (items_.empty() && !closed_) co_await changed_.wait();
    if (items_.empty()) co_return std::nullopt;
    std::optional<T> item(std::move(items_.front()));
    items_.pop_front();
    changed_.notify_all();
    co_return item;
  }
  // What is in it can still be popped.
  void close() {
    closed_ = true;
    changed_.notify_all();
  }

  [[nodiscard]] bool full() const { return items_.size() >= capacity_; }
  [[nodiscard]] std::size_t size() const { return items_.size(); }
  [[nodiscard]] bool closed() const { return closed_; }

 private:
  std::size_t capacity_;
  std::deque<T> items_;
  bool closed_ = false;
  Gate changed_;
};

}  // namespace grapevine
