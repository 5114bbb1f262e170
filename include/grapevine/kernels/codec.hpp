// Codecs of the tensors that travel: fp32 values to bytes and back. The bytes are nothing but data:
// which codec, which settings and how many elements is said elsewhere (manifest, announcement). All
// integers and floats are little-endian, groups follow each other without padding:
//
//   fp32   4 bytes an element.
//   bf16   2 bytes an element: the upper half of the fp32, rounded to nearest even; what would
//          become infinite becomes the largest finite bf16.
//   int8   for each block: scale, fp32; then q, a signed byte an element, -127..127.
//          scale = absmax / 127, q = round(x / scale) to nearest even, x' = q scale.
//   int4   as int8 with -7..7 and scale = absmax / 7; two elements a byte, the earlier one in the
//          low four bits; the odd one at the end of a tensor has 0 beside it.
//   topk   for each chunk the `kept` elements of largest magnitude (of equals the first), in order
//          of their place: a table of 4 values, bf16; a place of 12 bits each, two in three bytes,
//          low bits first; a number 0..3 of 2 bits each, four in a byte, low bits first; zeros fill
//          the last byte of both. x' is the table's value for what was kept, 0 for the rest. The
//          table's values are the means of four bins 3/2 sigma wide around the mean of what was
//          kept, the outer two open. A last chunk of m elements keeps ceil(m kept / chunk).
//
// |x - x'| is at most 2^-8 |x| (bf16, normal x that does not saturate), scale / 2 plus rounding
// (int8, int4). A block whose absmax is below 2^-100 is sent as zeros: 1 / scale must not overflow.
//
// The same input gives the same bytes and the same values on every CPU and on CUDA devices: fp32
// (top-k's statistics: fp64) operations in a given order, without fused contraction. The code path
// is chosen once, by what the CPU has. Pure; any thread. Sources: Streaming DiLoCo (arXiv
// 2501.18512; 4 bits suffice), SparseLoCo (arXiv 2508.15706; top-k, 64 of 4096, 12 + 2 bits).
#pragma once

#include "grapevine/base/bytes.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace grapevine {

enum class Codec : std::uint8_t { fp32, bf16, int8, int4, topk };

inline constexpr std::array codecs{Codec::fp32, Codec::bf16, Codec::int8, Codec::int4, Codec::topk};
[[nodiscard]] std::string_view codec_name(Codec codec);
[[nodiscard]] std::string_view codec_instruction_set();  // what this CPU runs: "avx512", "neon", …

struct CodecSettings {
  Codec codec = Codec::fp32;
  std::uint32_t block = 256;   // int8, int4: elements that share a scale; even, 2 to 4096
  std::uint32_t chunk = 4096;  // topk: 1 to 4096, as a place has 12 bits
  std::uint32_t kept = 64;     // topk: of each chunk, 1 to chunk
};

// Errc::unsupported for settings out of their range: the functions below insist on good ones.
[[nodiscard]] Result<> check_settings(CodecSettings const& settings);

// Elements of a group: an encoding cut at a multiple of it is two encodings.
[[nodiscard]] std::size_t group_elements(CodecSettings const& settings);

// The exact size of an encoding, whatever the values. `elements` <= limits::model_elements_max.
[[nodiscard]] std::size_t encoded_bytes(CodecSettings const& settings, std::size_t elements);

// `out` is encoded_bytes() long. Errc::not_finite when a value is; `out` is then worth nothing.
Result<> encode(CodecSettings const& settings, std::span<float const> values, MutableByteView out);

// Any bytes. Errc::malformed when they are not encoded_bytes() of out.size() elements, when a
// value or the table holds what is not finite, a scale is no scale, a q is out of range, a place is
// not above the one before or not in the chunk, or filling bits are not 0; `out` is then worth
// nothing. What passes is finite.
Result<> decode(CodecSettings const& settings, ByteView encoded, std::span<float> out);

}  // namespace grapevine
