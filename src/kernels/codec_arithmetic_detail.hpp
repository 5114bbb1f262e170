// The arithmetic of the codecs (codec.hpp), one element or one group at a time: one body for the
// loops of the host and the kernels of CUDA devices. Magnitudes are the bits of |x| as an integer:
// they order as the numbers do. Nothing here may be contracted (-ffp-contract=off, -fmad=false).
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#ifdef __CUDACC__
#define GRAPEVINE_HD __host__ __device__ __forceinline__
#else
#define GRAPEVINE_HD inline __attribute__((always_inline))
#endif

namespace grapevine::codec_detail {

// What is wrong with an input.
enum class Fault : std::uint8_t {
  none,
  not_finite,
  bad_scale,
  bad_value,
  bad_place,
  bad_filling,
};

inline constexpr std::size_t group_max = 4096;  // elements of a block or chunk

inline constexpr std::int32_t infinity_magnitude = 0x7f800000;
inline constexpr std::int32_t smallest_normal = 0x00800000;
inline constexpr std::int32_t smallest_absmax = 0x0d800000;  // 2^-100

GRAPEVINE_HD std::uint32_t bits_of(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

GRAPEVINE_HD float float_of(std::uint32_t bits) {
  float value = 0;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

GRAPEVINE_HD std::int32_t magnitude(float value) {
  return static_cast<std::int32_t>(bits_of(value) & 0x7fffffffU);
}

// --- bf16 ---

GRAPEVINE_HD std::uint16_t to_bf16(float finite) {
  std::uint32_t const bits = bits_of(finite);
  std::uint32_t const rounded = (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;
  std::uint32_t const overflowed = (rounded & 0x7fffU) == 0x7f80U ? 1 : 0;
  return static_cast<std::uint16_t>(rounded - overflowed);
}

GRAPEVINE_HD float from_bf16(std::uint16_t bits) {
  return float_of(static_cast<std::uint32_t>(bits) << 16);
}

// --- blocks with a scale; q is in -levels..levels ---

struct BlockScale {
  float scale;
  float inverse;
};

// The largest scale for which levels * scale is finite.
template <int levels>
inline constexpr std::int32_t largest_scale = 0;
template <>
inline constexpr std::int32_t largest_scale<127> = 0x7c010203;
template <>
inline constexpr std::int32_t largest_scale<7> = 0x7e124924;

template <int levels>
GRAPEVINE_HD BlockScale block_scale(std::int32_t largest) {
  if (largest < smallest_absmax) return {0, 0};
  float const absmax = float_of(static_cast<std::uint32_t>(largest));
  auto const scale = static_cast<std::int32_t>(bits_of(absmax / levels));
  std::int32_t const kept = scale < largest_scale<levels> ? scale : largest_scale<levels>;
  return {float_of(static_cast<std::uint32_t>(kept)), levels / absmax};
}

// A scale that block_scale could have made, or nearly: no product with it is subnormal or infinite.
template <int levels>
GRAPEVINE_HD bool is_scale(float scale) {
  auto const bits = static_cast<std::int32_t>(bits_of(scale));
  return bits == 0 || (bits >= smallest_normal && bits <= largest_scale<levels>);
}

// Adding 3 2^22 rounds to an integer, to nearest even, in the low bits of the sum.
GRAPEVINE_HD std::int32_t quantised(float value, float inverse) {
  constexpr float rounder = 12582912.0F;
  constexpr std::uint32_t rounder_bits = 0x4b400000;
  return static_cast<std::int32_t>(bits_of(value * inverse + rounder) - rounder_bits);
}

GRAPEVINE_HD float dequantised(std::int32_t q, float scale) {
  return static_cast<float>(q) * scale;
}

// --- top-k ---

inline constexpr std::size_t bins = 4;
inline constexpr std::size_t table_bytes = bins * 2;

// Elements kept of `count`; `count` is at most `chunk`.
GRAPEVINE_HD std::uint32_t kept_of(std::uint32_t count, std::uint32_t chunk, std::uint32_t kept) {
  return (count * kept + chunk - 1) / chunk;
}
GRAPEVINE_HD std::size_t place_bytes(std::size_t kept) { return (kept * 3 + 1) / 2; }
GRAPEVINE_HD std::size_t bin_bytes(std::size_t kept) { return (kept + 3) / 4; }
GRAPEVINE_HD std::size_t chunk_bytes(std::size_t kept) {
  return table_bytes + place_bytes(kept) + bin_bytes(kept);
}

// Mean and bin width of what is kept: sigma is the sample's (n - 1), a bin is 6 sigma / 4 wide.
struct BinGrid {
  double mean;
  double width;
};

GRAPEVINE_HD BinGrid bin_grid(float const* kept, std::uint32_t count) {
  double sum = 0;
  for (std::uint32_t i = 0; i < count; ++i) sum += static_cast<double>(kept[i]);
  double const mean = sum / count;
  double squares = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    double const centred = static_cast<double>(kept[i]) - mean;
    squares += centred * centred;
  }
  double const width = count > 1 ? 1.5 * std::sqrt(squares / (count - 1)) : 0;
  return {mean, width > 0 ? width : 1};
}

// round(x / width + 2) to nearest even, clamped to 0..3.
GRAPEVINE_HD std::uint32_t bin_of(float value, BinGrid grid) {
  double const at = (static_cast<double>(value) - grid.mean) / grid.width + 2;
  return (at > 0.5 ? 1U : 0U) + (at >= 1.5 ? 1U : 0U) + (at > 2.5 ? 1U : 0U);
}

// The bin of each kept value, and the mean of each bin (0 where it is empty).
GRAPEVINE_HD void fill_bins(float const* kept, std::uint32_t count, std::uint8_t* bin_numbers,
                            std::uint16_t* table) {
  auto const grid = bin_grid(kept, count);
  double sums[bins] = {};
  std::uint32_t counts[bins] = {};
  for (std::uint32_t i = 0; i < count; ++i) {
    auto const bin = bin_of(kept[i], grid);
    bin_numbers[i] = static_cast<std::uint8_t>(bin);
    sums[bin] += static_cast<double>(kept[i]);
    ++counts[bin];
  }
  for (std::size_t bin = 0; bin < bins; ++bin)
    table[bin] = counts[bin] > 0 ? to_bf16(static_cast<float>(sums[bin] / counts[bin])) : 0;
}

// A chunk's bytes from its parts.
GRAPEVINE_HD void write_chunk(std::uint16_t const* table, std::uint16_t const* places,
                              std::uint8_t const* bin_numbers, std::size_t kept,
                              std::uint8_t* out) {
  for (std::size_t bin = 0; bin < bins; ++bin) {
    out[2 * bin] = static_cast<std::uint8_t>(table[bin]);
    out[2 * bin + 1] = static_cast<std::uint8_t>(table[bin] >> 8);
  }
  out += table_bytes;
  for (std::size_t i = 0; i < kept; i += 2) {
    bool const pair = i + 1 < kept;
    std::uint32_t const both =
        places[i] | (pair ? static_cast<std::uint32_t>(places[i + 1]) << 12 : 0U);
    *out++ = static_cast<std::uint8_t>(both);
    *out++ = static_cast<std::uint8_t>(both >> 8);
    if (pair) *out++ = static_cast<std::uint8_t>(both >> 16);
  }
  for (std::size_t i = 0; i < kept; i += 4) {
    std::uint32_t byte = 0;
    for (std::size_t j = 0; j < 4 && i + j < kept; ++j)
      byte |= static_cast<std::uint32_t>(bin_numbers[i + j]) << (2 * j);
    *out++ = static_cast<std::uint8_t>(byte);
  }
}

GRAPEVINE_HD std::uint32_t place_at(std::uint8_t const* places, std::size_t i) {
  std::uint8_t const* const at = places + i / 2 * 3;
  return i % 2 == 0
             ? at[0] | (at[1] & 0x0fU) << 8
             : static_cast<std::uint32_t>(at[1]) >> 4 | static_cast<std::uint32_t>(at[2]) << 4;
}

GRAPEVINE_HD std::uint32_t bin_at(std::uint8_t const* bin_numbers, std::size_t i) {
  return static_cast<std::uint32_t>(bin_numbers[i / 4]) >> (2 * (i % 4)) & 3U;
}

GRAPEVINE_HD bool filling_is_zero(std::uint8_t const* places, std::uint8_t const* bin_numbers,
                                  std::size_t kept) {
  bool const places_full = kept % 2 == 0 || places[place_bytes(kept) - 1] >> 4 == 0;
  bool const bins_full = kept % 4 == 0 || bin_numbers[kept / 4] >> (2 * (kept % 4)) == 0;
  return places_full && bins_full;
}

GRAPEVINE_HD float table_value(std::uint8_t const* encoded, std::size_t bin) {
  return from_bf16(static_cast<std::uint16_t>(encoded[2 * bin] | encoded[2 * bin + 1] << 8));
}

// `encoded` is chunk_bytes(kept) long, `out` is zeroed and `count` long.
GRAPEVINE_HD Fault scatter_chunk(std::uint8_t const* encoded, std::size_t kept, float* out,
                                 std::size_t count) {
  std::uint8_t const* const places = encoded + table_bytes;
  std::uint8_t const* const bin_numbers = places + place_bytes(kept);
  float table[bins];
  for (std::size_t bin = 0; bin < bins; ++bin) {
    table[bin] = table_value(encoded, bin);
    if (magnitude(table[bin]) >= infinity_magnitude) return Fault::not_finite;
  }
  if (!filling_is_zero(places, bin_numbers, kept)) return Fault::bad_filling;
  std::size_t free_from = 0;
  for (std::size_t i = 0; i < kept; ++i) {
    std::size_t const place = place_at(places, i);
    if (place < free_from || place >= count) return Fault::bad_place;
    out[place] = table[bin_at(bin_numbers, i)];
    free_from = place + 1;
  }
  return Fault::none;
}

}  // namespace grapevine::codec_detail
