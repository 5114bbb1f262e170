// safetensors files (Hugging Face): u64 little-endian header length, a JSON header, then raw
// tensors. The reader takes hostile bytes: header length, offsets, overlaps, gaps, dtypes and sizes
// are all checked before a tensor is looked at. Pure; any thread.
#pragma once

#include "grapevine/base/bytes.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace grapevine::safetensors {

enum class Dtype { f32, f16, bf16, i64, i32, u8 };

struct View {  // points into the file's bytes
  Dtype dtype = Dtype::f32;
  std::vector<std::int64_t> shape;
  ByteView data;
};

struct File {
  std::map<std::string, View> tensors;
  std::map<std::string, std::string> metadata;
};

struct Entry {
  std::string name;
  Dtype dtype = Dtype::f32;
  std::vector<std::int64_t> shape;
  ByteView data;
};

[[nodiscard]] Result<File> parse(ByteView file);  // Errc::malformed names what is wrong
[[nodiscard]] Bytes write(std::span<Entry const> tensors,
                          std::map<std::string, std::string> const& metadata);

}  // namespace grapevine::safetensors
