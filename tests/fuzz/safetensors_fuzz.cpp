// Any bytes as a safetensors file: every view must lie inside them, and what was read can be
// written and read again.
#include "grapevine/base/assert.hpp"
#include "grapevine/tensor/safetensors.hpp"

using namespace grapevine;

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  ByteView const input(data, size);
  auto const file = safetensors::parse(input);
  if (!file) return 0;
  std::vector<safetensors::Entry> entries;
  for (auto const& [name, view] : file->tensors) {
    if (!view.data.empty()) {
      ASSERT(view.data.data() >= input.data());
      ASSERT(view.data.data() + view.data.size() <= input.data() + input.size());
    }
    entries.push_back({name, view.dtype, view.shape, view.data});
  }
  auto const written = safetensors::write(entries, file->metadata);
  auto const again = safetensors::parse(written);
  ASSERT(again.has_value());
  ASSERT(again->tensors.size() == file->tensors.size());
  return 0;
}
