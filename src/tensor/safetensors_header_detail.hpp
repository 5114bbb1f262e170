// The JSON header of a safetensors file, read event by event: a hostile header of many nested or
// repeated values is refused where it begins and never becomes a tree in memory.
#pragma once

#include "grapevine/base/result.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace grapevine::safetensors {

struct HeaderTensor {
  std::string name;
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

struct Header {
  std::vector<HeaderTensor> tensors;  // unique names
  std::map<std::string, std::string> metadata;
};

// Errc::malformed names what is wrong.
[[nodiscard]] Result<Header> read_header(std::string_view json);

}  // namespace grapevine::safetensors
