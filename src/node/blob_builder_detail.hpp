// BlobBuilder: fp32 values become a blob, a tile at a time. What is made, checked and appended in
// tiles passes through memory once: a tile stays in the nearest cache, and no byte is zeroed first.
#pragma once

#include "grapevine/base/assert.hpp"
#include "grapevine/net/blob_exchange.hpp"

#include <algorithm>
#include <array>
#include <span>

namespace grapevine {

inline constexpr std::size_t tile_values_max = 4096;
using Tile = std::array<float, tile_values_max>;

class BlobBuilder {
 public:
  explicit BlobBuilder(std::size_t values) : values_(values) {
    bytes_.reserve(values * sizeof(float));
  }

  [[nodiscard]] std::size_t size() const { return bytes_.size() / sizeof(float); }  // in values
  [[nodiscard]] bool complete() const { return size() == values_; }
  // The part of `tile` that is to be filled with the values from size() on.
  [[nodiscard]] std::span<float> next(Tile& tile) const {
    return std::span(tile).first(std::min(tile_values_max, values_ - size()));
  }
  void append(std::span<float const> values) {
    ASSERT(values.size() <= values_ - size());
    grapevine::append(bytes_,
                      {reinterpret_cast<std::uint8_t const*>(values.data()), values.size_bytes()});
  }
  [[nodiscard]] Blob take() {
    ASSERT(complete());
    return std::make_shared<Bytes const>(std::move(bytes_));
  }

 private:
  std::size_t values_;
  Bytes bytes_;
};

}  // namespace grapevine
