// Tensors that try a codec: lengths with tails of every kind, values of every size.
#pragma once

#include "grapevine/base/random.hpp"
#include "grapevine/kernels/codec.hpp"

#include <cfloat>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

namespace grapevine {

inline constexpr CodecSettings all_codecs[] = {{.codec = Codec::fp32},
                                               {.codec = Codec::bf16},
                                               {.codec = Codec::int8},
                                               {.codec = Codec::int4},
                                               {.codec = Codec::topk}};

inline std::vector<float> normal_values(std::size_t count, std::uint64_t seed, double sigma = 1) {
  SeededRandom random(seed);
  std::vector<float> values(count);
  for (float& value : values) {
    double const radius = std::sqrt(-2 * std::log(1 - random.unit()));
    value = static_cast<float>(sigma * radius * std::cos(2 * std::numbers::pi * random.unit()));
  }
  return values;
}

// Any finite bits: every exponent, subnormal too, both zeros.
inline std::vector<float> any_values(std::size_t count, std::uint64_t seed) {
  SeededRandom random(seed);
  std::vector<float> values(count);
  for (float& value : values) {
    do {
      auto const bits = static_cast<std::uint32_t>(random.next());
      std::memcpy(&value, &bits, sizeof(value));
    } while (!std::isfinite(value));
  }
  return values;
}

// Few different values, so that top-k has equals to tell apart and halves to round.
inline std::vector<float> coarse_values(std::size_t count, std::uint64_t seed) {
  SeededRandom random(seed);
  std::vector<float> values(count);
  for (float& value : values) value = 0.5F * (static_cast<float>(random.below(13)) - 6);
  return values;
}

inline std::vector<std::vector<float>> samples(std::size_t count, std::uint64_t seed) {
  std::vector<std::vector<float>> all{
      normal_values(count, seed),
      normal_values(count, seed, 1e-36),
      normal_values(count, seed, 1e-30),
      normal_values(count, seed, 1e37),
      any_values(count, seed),
      coarse_values(count, seed),
      std::vector<float>(count, 0.0F),
      std::vector<float>(count, -0.0F),
      std::vector<float>(count, FLT_MAX),
      std::vector<float>(count, -FLT_TRUE_MIN),
  };
  for (float& value : all[3]) value = std::fmin(std::fmax(value, -FLT_MAX), FLT_MAX);
  return all;
}

inline Bytes encoded(CodecSettings const& settings, std::span<float const> values) {
  Bytes bytes(encoded_bytes(settings, values.size()));
  if (!encode(settings, values, bytes)) return {};
  return bytes;
}

inline Result<std::vector<float>> decoded(CodecSettings const& settings, ByteView bytes,
                                          std::size_t elements) {
  std::vector<float> values(elements, NAN);
  TRY(decode(settings, bytes, values));
  return values;
}

}  // namespace grapevine
