// The same codecs compiled for each instruction set. What the architecture always has comes first
// (SSE2 on x86-64, NEON on aarch64); the fastest that this CPU has comes last.
#pragma once

#include "grapevine/kernels/codec.hpp"
#include "kernels/codec_arithmetic_detail.hpp"

#include <span>

namespace grapevine::codec_detail {

// Settings and sizes must have been checked.
struct CodecPath {
  char const* name;
  Fault (*encode)(CodecSettings const& settings, float const* values, std::size_t count,
                  std::uint8_t* out);
  Fault (*decode)(CodecSettings const& settings, std::uint8_t const* encoded, float* out,
                  std::size_t count);
};

[[nodiscard]] std::span<CodecPath const> usable_paths();  // at least one

}  // namespace grapevine::codec_detail
