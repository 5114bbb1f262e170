#include "grapevine/tensor/safetensors.hpp"

#include "grapevine/base/assert.hpp"
#include "grapevine/base/limits.hpp"
#include "tensor/safetensors_header_detail.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <bit>
#include <optional>

namespace grapevine::safetensors {
namespace {

static_assert(std::endian::native == std::endian::little, "tensors are used in place");

constexpr std::size_t length_bytes = 8;
constexpr std::size_t alignment = 8;  // writers pad the header with spaces to this

struct DtypeName {
  Dtype dtype;
  std::string_view name;
  std::uint64_t bytes;
};
constexpr auto dtypes = std::to_array<DtypeName>({{Dtype::f32, "F32", 4},
                                                  {Dtype::f16, "F16", 2},
                                                  {Dtype::bf16, "BF16", 2},
                                                  {Dtype::i64, "I64", 8},
                                                  {Dtype::i32, "I32", 4},
                                                  {Dtype::u8, "U8", 1}});

DtypeName const& describe(Dtype dtype) {
  auto const at = std::ranges::find(dtypes, dtype, &DtypeName::dtype);
  ASSERT(at != dtypes.end());
  return *at;
}

// Bytes that `shape` takes; nothing when a dimension is negative or the product too large.
std::optional<std::uint64_t> size_of(std::span<std::int64_t const> shape, std::uint64_t each) {
  std::uint64_t size = each;
  for (auto const dimension : shape) {
    if (dimension < 0) return std::nullopt;
    auto const count = static_cast<std::uint64_t>(dimension);
    if (count != 0 && size > limits::model_elements_max * each / count) return std::nullopt;
    size *= count;
  }
  return size;
}

Result<View> make_view(HeaderTensor const& tensor, ByteView data) {
  auto const at = std::ranges::find(dtypes, tensor.dtype, &DtypeName::name);
  if (at == dtypes.end())
    return fail(Errc::unsupported, fmt::format("{}: data type {}", tensor.name, tensor.dtype));
  if (tensor.begin > tensor.end || tensor.end > data.size())
    return fail(Errc::malformed, fmt::format("{}: bytes {}..{} of {}", tensor.name, tensor.begin,
                                             tensor.end, data.size()));
  if (size_of(tensor.shape, at->bytes) != tensor.end - tensor.begin)
    return fail(Errc::malformed, tensor.name + ": its shape does not fill its bytes");
  return View{at->dtype, tensor.shape, data.subspan(tensor.begin, tensor.end - tensor.begin)};
}

// The format allows neither overlaps nor bytes that belong to nobody.
Result<> check_cover(std::vector<HeaderTensor> tensors, std::uint64_t bytes) {
  std::ranges::sort(tensors, {}, [](auto const& t) { return std::pair(t.begin, t.end); });
  std::uint64_t next = 0;
  for (auto const& tensor : tensors) {
    if (tensor.begin != next)
      return fail(Errc::malformed,
                  fmt::format("{}: begins at {}, not at {}", tensor.name, tensor.begin, next));
    next = tensor.end;
  }
  if (next != bytes)
    return fail(Errc::malformed, fmt::format("{} bytes after the last tensor", bytes - next));
  return {};
}

}  // namespace

Result<File> parse(ByteView file) {
  if (file.size() < length_bytes) return fail(Errc::truncated, "no header length");
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), length_bytes);
  if (length > limits::safetensors_header_max)
    return fail(Errc::oversize, fmt::format("a header of {} bytes", length));
  if (length > file.size() - length_bytes)
    return fail(Errc::truncated,
                fmt::format("a header of {} bytes in a file of {}", length, file.size()));
  TRY_ASSIGN(auto header, read_header(as_text(file.subspan(length_bytes, length))));
  auto const data = file.subspan(length_bytes + length);
  File result;
  result.metadata = std::move(header.metadata);
  for (auto const& tensor : header.tensors) {
    TRY_ASSIGN(auto view, make_view(tensor, data));
    result.tensors.emplace(tensor.name, std::move(view));
  }
  TRY(check_cover(std::move(header.tensors), data.size()));
  return result;
}

Bytes write(std::span<Entry const> tensors, std::map<std::string, std::string> const& metadata) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::uint64_t offset = 0;
  for (auto const& tensor : tensors) {
    auto const& dtype = describe(tensor.dtype);
    ASSERT(size_of(tensor.shape, dtype.bytes) == tensor.data.size());
    header[tensor.name] = {{"dtype", dtype.name},
                           {"shape", tensor.shape},
                           {"data_offsets", {offset, offset + tensor.data.size()}}};
    offset += tensor.data.size();
  }
  using Json = nlohmann::ordered_json;
  std::string text = header.dump(-1, ' ', false, Json::error_handler_t::replace);
  text.resize((text.size() + alignment - 1) / alignment * alignment, ' ');
  ASSERT(text.size() <= limits::safetensors_header_max);
  std::uint64_t const length = text.size();
  Bytes file(length_bytes);
  file.reserve(length_bytes + length + offset);
  std::memcpy(file.data(), &length, length_bytes);
  append(file, as_bytes(text));
  for (auto const& tensor : tensors) append(file, tensor.data);
  return file;
}

}  // namespace grapevine::safetensors
