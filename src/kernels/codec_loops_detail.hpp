// The codecs of codec.hpp over whole tensors, on the host. Everything is inlined into whoever calls
// and written for the compiler to vectorise, so that one body serves each instruction set
// (codec_paths.cpp). Pointers and counts: nothing here may leave a function behind that another
// path would be linked to. `encode_all` and `decode_all` are the only ways in.
#pragma once

#include "grapevine/kernels/codec.hpp"
#include "kernels/codec_arithmetic_detail.hpp"

#include <bit>

#define GRAPEVINE_INLINE inline __attribute__((always_inline))

namespace grapevine::codec_detail {

static_assert(std::endian::native == std::endian::little, "encodings are little-endian");

GRAPEVINE_INLINE std::size_t lesser(std::size_t a, std::size_t b) { return a < b ? a : b; }

GRAPEVINE_INLINE std::int32_t larger(std::int32_t a, std::int32_t b) { return a > b ? a : b; }

GRAPEVINE_INLINE Fault finite_if(std::int32_t largest) {
  return largest < infinity_magnitude ? Fault::none : Fault::not_finite;
}

GRAPEVINE_INLINE std::int32_t largest_magnitude(float const* values, std::size_t count) {
  std::int32_t largest = 0;
  for (std::size_t i = 0; i < count; ++i) largest = larger(largest, magnitude(values[i]));
  return largest;
}

// --- fp32 and bf16 ---

// `from` need not be aligned. Large pieces: memcpy then writes without reading first what it
// overwrites, which a loop of ours cannot.
GRAPEVINE_INLINE Fault copy_fp32(void const* from, void* to, std::size_t count) {
  constexpr std::size_t piece = 8192;  // looked at, and copied while it is in a near cache
  std::int32_t largest = 0;
  for (std::size_t done = 0; done < count; done += piece) {
    std::size_t const here = lesser(piece, count - done);
    auto const* const source = static_cast<std::uint8_t const*>(from) + 4 * done;
    for (std::size_t i = 0; i < here; ++i) {
      float value = 0;
      std::memcpy(&value, source + 4 * i, sizeof(value));
      largest = larger(largest, magnitude(value));
    }
    std::memcpy(static_cast<std::uint8_t*>(to) + 4 * done, source, 4 * here);
  }
  return finite_if(largest);
}

GRAPEVINE_INLINE Fault encode_bf16(float const* __restrict values, std::size_t count,
                                   std::uint8_t* __restrict out) {
  std::int32_t largest = 0;
  for (std::size_t i = 0; i < count; ++i) {
    std::uint16_t const rounded = to_bf16(values[i]);
    std::memcpy(out + 2 * i, &rounded, sizeof(rounded));
    largest = larger(largest, magnitude(values[i]));
  }
  return finite_if(largest);
}

GRAPEVINE_INLINE Fault decode_bf16(std::uint8_t const* __restrict encoded, float* __restrict out,
                                   std::size_t count) {
  std::int32_t largest = 0;
  for (std::size_t i = 0; i < count; ++i) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, encoded + 2 * i, sizeof(bits));
    out[i] = from_bf16(bits);
    largest = larger(largest, magnitude(out[i]));
  }
  return finite_if(largest);
}

// --- int8 and int4 ---

GRAPEVINE_INLINE void quantise(float const* __restrict values, std::size_t count, float inverse,
                               std::int8_t* __restrict out) {
  for (std::size_t i = 0; i < count; ++i)
    out[i] = static_cast<std::int8_t>(quantised(values[i], inverse));
}

GRAPEVINE_INLINE void dequantise(std::int8_t const* __restrict q, std::size_t count, float scale,
                                 float* __restrict out) {
  for (std::size_t i = 0; i < count; ++i) out[i] = dequantised(q[i], scale);
}

// `q` has room for one more where `count` is odd.
GRAPEVINE_INLINE void pack_nibbles(std::int8_t* __restrict q, std::size_t count,
                                   std::uint8_t* __restrict out) {
  if (count % 2 != 0) q[count] = 0;
  for (std::size_t i = 0; i < (count + 1) / 2; ++i) {
    std::uint16_t pair = 0;
    std::memcpy(&pair, q + 2 * i, sizeof(pair));
    pair &= 0x0f0f;
    out[i] = static_cast<std::uint8_t>(pair | pair >> 4);
  }
}

GRAPEVINE_INLINE void unpack_nibbles(std::uint8_t const* __restrict encoded, std::size_t count,
                                     std::int8_t* __restrict q) {
  for (std::size_t i = 0; i < (count + 1) / 2; ++i) {
    auto const pair = static_cast<std::uint16_t>((encoded[i] | encoded[i] << 4) & 0x0f0f);
    std::memcpy(q + 2 * i, &pair, sizeof(pair));
  }
  for (std::size_t i = 0; i < (count + 1) / 2 * 2; ++i)
    q[i] = static_cast<std::int8_t>((q[i] ^ 8) - 8);
}

template <int levels>
GRAPEVINE_INLINE std::size_t block_bytes(std::size_t count) {
  return sizeof(float) + (levels == 7 ? (count + 1) / 2 : count);
}

template <int levels>
GRAPEVINE_INLINE Fault encode_blocks(float const* values, std::size_t count, std::size_t block,
                                     std::uint8_t* out) {
  std::int32_t largest_of_all = 0;
  for (std::size_t done = 0; done < count; done += block) {
    std::size_t const here = lesser(block, count - done);
    std::int32_t const largest = largest_magnitude(values + done, here);
    auto const scale = block_scale<levels>(largest);
    std::memcpy(out, &scale.scale, sizeof(float));
    if constexpr (levels == 7) {
      std::int8_t q[group_max];
      quantise(values + done, here, scale.inverse, q);
      pack_nibbles(q, here, out + sizeof(float));
    } else {
      quantise(values + done, here, scale.inverse,
               reinterpret_cast<std::int8_t*>(out + sizeof(float)));
    }
    out += block_bytes<levels>(here);
    largest_of_all = larger(largest_of_all, largest);
  }
  return finite_if(largest_of_all);
}

template <int levels>
GRAPEVINE_INLINE Fault decode_block(std::int8_t const* q, std::size_t count, float scale,
                                    float* out) {
  std::int8_t lowest = 0;
  for (std::size_t i = 0; i < count; ++i) lowest = q[i] < lowest ? q[i] : lowest;
  if (lowest < -levels) return Fault::bad_value;
  dequantise(q, count, scale, out);
  return Fault::none;
}

template <int levels>
GRAPEVINE_INLINE Fault decode_blocks(std::uint8_t const* encoded, float* out, std::size_t count,
                                     std::size_t block) {
  for (std::size_t done = 0; done < count; done += block) {
    std::size_t const here = lesser(block, count - done);
    float scale = 0;
    std::memcpy(&scale, encoded, sizeof(scale));
    if (!is_scale<levels>(scale)) return Fault::bad_scale;
    Fault fault = Fault::none;
    if constexpr (levels == 7) {
      std::int8_t q[group_max];
      unpack_nibbles(encoded + sizeof(float), here, q);
      if (here % 2 != 0 && q[here] != 0) return Fault::bad_filling;
      fault = decode_block<levels>(q, here, scale, out + done);
    } else {
      fault = decode_block<levels>(reinterpret_cast<std::int8_t const*>(encoded + sizeof(float)),
                                   here, scale, out + done);
    }
    if (fault != Fault::none) return fault;
    encoded += block_bytes<levels>(here);
  }
  return Fault::none;
}

// --- top-k ---

GRAPEVINE_INLINE std::uint32_t count_from(std::int32_t const* magnitudes, std::size_t count,
                                          std::int32_t threshold) {
  std::int32_t from = 0;
  for (std::size_t i = 0; i < count; ++i) from += magnitudes[i] >= threshold ? 1 : 0;
  return static_cast<std::uint32_t>(from);
}

// A magnitude that at least `kept` elements have or exceed, and more than `kept` only where equals
// must be told apart by their place. From the largest down in steps that double, the first a factor
// of 2 in value, then by halving: a pass over the nearest cache for each, 40 at most, so that no
// input is a slow one. (`largest` is below 2^31 - 2^23, so that no step overflows.)
GRAPEVINE_INLINE std::int32_t threshold_of(std::int32_t const* magnitudes, std::size_t count,
                                           std::uint32_t kept, std::int32_t largest) {
  std::int32_t high = largest + 1;  // fewer than `kept` reach it
  std::int32_t low = 0;             // at least `kept` reach it, once the steps have ended
  for (std::int32_t step = smallest_normal; step < high; step *= 2) {
    auto const from = count_from(magnitudes, count, high - step);
    if (from == kept) return high - step;
    if (from > kept) {
      low = high - step;
      break;
    }
    high -= step;
  }
  while (high - low > 1) {
    std::int32_t const middle = low + (high - low) / 2;
    auto const from = count_from(magnitudes, count, middle);
    if (from == kept) return middle;
    (from > kept ? low : high) = middle;
  }
  return low;
}

// The places of the `kept` largest, ascending; `places` has room for one more than `count`.
GRAPEVINE_INLINE void select_places(std::int32_t const* magnitudes, std::size_t count,
                                    std::uint32_t kept, std::int32_t largest,
                                    std::uint16_t* __restrict places) {
  auto const threshold = threshold_of(magnitudes, count, kept, largest);
  std::size_t found = 0;
  for (std::size_t i = 0; i < count; ++i) {  // without a branch: whether it stays comes after
    places[found] = static_cast<std::uint16_t>(i);
    found += magnitudes[i] >= threshold ? 1 : 0;
  }
  if (found == kept) return;
  auto equals_left = kept - count_from(magnitudes, count, threshold + 1);
  std::size_t stay = 0;
  for (std::size_t i = 0; i < found; ++i) {
    bool const equal = magnitudes[places[i]] == threshold;
    if (equal && equals_left == 0) continue;
    if (equal) --equals_left;
    places[stay++] = places[i];
  }
}

GRAPEVINE_INLINE Fault encode_chunk(float const* values, std::size_t count, std::uint32_t kept,
                                    std::uint8_t* out) {
  std::int32_t magnitudes[group_max];
  for (std::size_t i = 0; i < count; ++i) magnitudes[i] = magnitude(values[i]);
  std::int32_t const largest = largest_magnitude(values, count);
  if (largest >= infinity_magnitude) return Fault::not_finite;
  std::uint16_t places[group_max + 1];
  select_places(magnitudes, count, kept, largest, places);
  float kept_values[group_max];
  for (std::uint32_t i = 0; i < kept; ++i) kept_values[i] = values[places[i]];
  std::uint8_t bin_numbers[group_max];
  std::uint16_t table[bins];
  fill_bins(kept_values, kept, bin_numbers, table);
  write_chunk(table, places, bin_numbers, kept, out);
  return Fault::none;
}

GRAPEVINE_INLINE std::uint32_t kept_here(CodecSettings const& settings, std::size_t count) {
  return kept_of(static_cast<std::uint32_t>(count), settings.chunk, settings.kept);
}

GRAPEVINE_INLINE Fault encode_chunks(CodecSettings const& settings, float const* values,
                                     std::size_t count, std::uint8_t* out) {
  for (std::size_t done = 0; done < count; done += settings.chunk) {
    std::size_t const here = lesser(settings.chunk, count - done);
    auto const kept = kept_here(settings, here);
    auto const fault = encode_chunk(values + done, here, kept, out);
    if (fault != Fault::none) return fault;
    out += chunk_bytes(kept);
  }
  return Fault::none;
}

GRAPEVINE_INLINE Fault decode_chunks(CodecSettings const& settings, std::uint8_t const* encoded,
                                     float* out, std::size_t count) {
  for (std::size_t done = 0; done < count; done += settings.chunk) {
    std::size_t const here = lesser(settings.chunk, count - done);
    auto const kept = kept_here(settings, here);
    std::memset(out + done, 0, here * sizeof(float));
    auto const fault = scatter_chunk(encoded, kept, out + done, here);
    if (fault != Fault::none) return fault;
    encoded += chunk_bytes(kept);
  }
  return Fault::none;
}

// --- the ways in; sizes were checked ---

GRAPEVINE_INLINE Fault encode_all(CodecSettings const& settings, float const* values,
                                  std::size_t count, std::uint8_t* out) {
  switch (settings.codec) {
    case Codec::fp32:
      return copy_fp32(values, out, count);
    case Codec::bf16:
      return encode_bf16(values, count, out);
    case Codec::int8:
      return encode_blocks<127>(values, count, settings.block, out);
    case Codec::int4:
      return encode_blocks<7>(values, count, settings.block, out);
    case Codec::topk:
      break;
  }
  return encode_chunks(settings, values, count, out);
}

GRAPEVINE_INLINE Fault decode_all(CodecSettings const& settings, std::uint8_t const* encoded,
                                  float* out, std::size_t count) {
  switch (settings.codec) {
    case Codec::fp32:
      return copy_fp32(encoded, out, count);
    case Codec::bf16:
      return decode_bf16(encoded, out, count);
    case Codec::int8:
      return decode_blocks<127>(encoded, out, count, settings.block);
    case Codec::int4:
      return decode_blocks<7>(encoded, out, count, settings.block);
    case Codec::topk:
      break;
  }
  return decode_chunks(settings, encoded, out, count);
}

}  // namespace grapevine::codec_detail
