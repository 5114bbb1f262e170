#include "kernels/codec_paths_detail.hpp"

#include "kernels/codec_loops_detail.hpp"

#include <algorithm>
#include <array>

namespace grapevine::codec_detail {
namespace {

Fault encode_baseline(CodecSettings const& settings, float const* values, std::size_t count,
                      std::uint8_t* out) {
  return encode_all(settings, values, count, out);
}
Fault decode_baseline(CodecSettings const& settings, std::uint8_t const* encoded, float* out,
                      std::size_t count) {
  return decode_all(settings, encoded, out, count);
}

#if defined(__x86_64__)

#define GRAPEVINE_AVX2 __attribute__((target("avx2")))
#define GRAPEVINE_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))

GRAPEVINE_AVX2 Fault encode_avx2(CodecSettings const& settings, float const* values,
                                 std::size_t count, std::uint8_t* out) {
  return encode_all(settings, values, count, out);
}
GRAPEVINE_AVX2 Fault decode_avx2(CodecSettings const& settings, std::uint8_t const* encoded,
                                 float* out, std::size_t count) {
  return decode_all(settings, encoded, out, count);
}

GRAPEVINE_AVX512 Fault encode_avx512(CodecSettings const& settings, float const* values,
                                     std::size_t count, std::uint8_t* out) {
  return encode_all(settings, values, count, out);
}
GRAPEVINE_AVX512 Fault decode_avx512(CodecSettings const& settings, std::uint8_t const* encoded,
                                     float* out, std::size_t count) {
  return decode_all(settings, encoded, out, count);
}

constexpr std::array paths{
    CodecPath{"sse2", encode_baseline, decode_baseline},
    CodecPath{"avx2", encode_avx2, decode_avx2},
    CodecPath{"avx512", encode_avx512, decode_avx512},
};

std::size_t count_usable() {
  if (!__builtin_cpu_supports("avx2")) return 1;
  bool const avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return avx512 ? 3 : 2;
}

#else

#if defined(__aarch64__)
constexpr char const* baseline = "neon";
#else
constexpr char const* baseline = "plain";
#endif
constexpr std::array paths{CodecPath{baseline, encode_baseline, decode_baseline}};

std::size_t count_usable() { return paths.size(); }

#endif

}  // namespace

std::span<CodecPath const> usable_paths() {
  static std::size_t const usable = count_usable();
  return std::span(paths).first(usable);
}

}  // namespace grapevine::codec_detail
