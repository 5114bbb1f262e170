#include "grapevine/tensor/layout.hpp"

#include "grapevine/base/assert.hpp"
#include "grapevine/base/limits.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace grapevine {
namespace {

// The canonical text has one line a tensor: a name must not be able to forge another line.
bool is_plain(std::string_view name) {
  return std::ranges::all_of(name, [](char c) { return c > ' ' && c <= '~'; });
}

Result<> measure(TensorSpec& tensor) {
  if (tensor.name.empty()) return fail(Errc::schema_mismatch, "a tensor without a name");
  if (tensor.name.size() > limits::tensor_name_max || !is_plain(tensor.name))
    return fail(Errc::schema_mismatch, "a tensor name that is too long or not plain ASCII");
  if (tensor.shape.size() > limits::tensor_dimensions_max)
    return fail(Errc::schema_mismatch,
                fmt::format("{}: {} dimensions", tensor.name, tensor.shape.size()));
  tensor.elements = 1;
  for (auto const dimension : tensor.shape) {
    if (dimension <= 0)
      return fail(Errc::schema_mismatch, fmt::format("{}: dimension {}", tensor.name, dimension));
    auto const size = static_cast<std::uint64_t>(dimension);
    if (size > limits::model_elements_max / tensor.elements)
      return fail(Errc::schema_mismatch, tensor.name + ": too many elements");
    tensor.elements *= size;
  }
  return {};
}

}  // namespace

Result<TensorLayout> TensorLayout::make(std::vector<TensorSpec> tensors) {
  if (tensors.size() > limits::tensors_max)
    return fail(Errc::schema_mismatch, fmt::format("{} tensors", tensors.size()));
  std::ranges::sort(tensors, {}, &TensorSpec::name);
  TensorLayout layout;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    auto& tensor = tensors[i];
    TRY(measure(tensor));
    if (i > 0 && tensors[i - 1].name == tensor.name)
      return fail(Errc::schema_mismatch, tensor.name + ": named twice");
    tensor.offset = layout.elements_;
    layout.elements_ += tensor.elements;
    if (layout.elements_ > limits::model_elements_max)
      return fail(Errc::schema_mismatch, tensor.name + ": too many elements in all");
  }
  layout.tensors_ = std::move(tensors);
  return layout;
}

TensorSpec const* TensorLayout::find(std::string_view name) const {
  auto const at = std::ranges::lower_bound(tensors_, name, {}, &TensorSpec::name);
  return at != tensors_.end() && at->name == name ? &*at : nullptr;
}

std::string TensorLayout::canonical_text() const {
  std::string text;
  for (auto const& tensor : tensors_)
    text += fmt::format("{}\tF32\t[{}]\n", tensor.name, fmt::join(tensor.shape, ","));
  return text;
}

ElementRange shard_range(std::uint64_t elements, std::uint32_t shards, std::uint32_t index) {
  ASSERT(index < shards);
  // The first `longer` shards hold one element more.
  std::uint64_t const each = elements / shards;
  std::uint64_t const longer = elements % shards;
  return {index * each + std::min<std::uint64_t>(index, longer), each + (index < longer ? 1 : 0)};
}

}  // namespace grapevine
