// TensorLayout: the names, shapes and places of a model's parameters in one flat fp32 vector.
// Tensors are ordered by name, so two peers with the same names and shapes have the same layout:
// everything that is mixed or sent is a range of this vector. Pure; a value; any thread.
#pragma once

#include "grapevine/base/result.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace grapevine {

struct TensorSpec {
  std::string name;                 // canonical Hugging Face name
  std::vector<std::int64_t> shape;  // row-major
  std::uint64_t offset = 0;         // first element in the flat vector
  std::uint64_t elements = 0;
};

class TensorLayout {
 public:
  TensorLayout() = default;
  // Sorts by name and assigns offsets; duplicate names, empty names or non-positive dimensions:
  // Errc::schema_mismatch.
  [[nodiscard]] static Result<TensorLayout> make(std::vector<TensorSpec> tensors);

  [[nodiscard]] std::span<TensorSpec const> tensors() const { return tensors_; }
  [[nodiscard]] std::uint64_t elements() const { return elements_; }
  [[nodiscard]] TensorSpec const* find(std::string_view name) const;
  // One line a tensor, "name\tF32\t[d0,d1]\n": its SHA-256 is the schema hash of a run.
  [[nodiscard]] std::string canonical_text() const;

 private:
  std::vector<TensorSpec> tensors_;
  std::uint64_t elements_ = 0;
};

// Range [first, first + count) of shard `index` of `shards` equal parts of `elements` elements.
struct ElementRange {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  bool operator==(ElementRange const&) const = default;
};
[[nodiscard]] ElementRange shard_range(std::uint64_t elements, std::uint32_t shards,
                                       std::uint32_t index);

}  // namespace grapevine
