// The dense codecs, and what holds for all; top-k has a file of its own.
#include "grapevine/kernels/codec.hpp"
#include "unit/kernels/codec_samples.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <limits>

using namespace grapevine;

namespace {

constexpr CodecSettings bf16{.codec = Codec::bf16};
constexpr CodecSettings int8{.codec = Codec::int8};
constexpr CodecSettings int4{.codec = Codec::int4};

std::uint32_t bits_of(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

float float_of(std::uint32_t bits) {
  float value = 0;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

float scale_at(ByteView bytes, std::size_t at) {
  float scale = 0;
  std::memcpy(&scale, bytes.data() + at, sizeof(scale));
  return scale;
}

void set_scale(Bytes& bytes, float scale) { std::memcpy(bytes.data(), &scale, sizeof(scale)); }

std::vector<float> round_trip(CodecSettings const& settings, std::span<float const> values) {
  auto result = decoded(settings, encoded(settings, values), values.size());
  REQUIRE(result.has_value());
  return *std::move(result);
}

void check_malformed(CodecSettings const& settings, ByteView bytes, std::size_t elements) {
  auto const result = decoded(settings, bytes, elements);
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().errc() == Errc::malformed);
}

// Of the two bf16 values around x the nearer, of two as near the even one: in double, by distance.
float nearest_bf16(float x) {
  std::uint32_t const below = bits_of(x) & 0xffff0000U;  // toward zero
  double const low = float_of(below);
  if (low == static_cast<double>(x)) return x;
  std::uint32_t const above = below + 0x10000U;
  if ((above & 0x7fffffffU) >= 0x7f800000U) return float_of(below);  // the largest there is
  double const to_low = std::abs(x - low), to_high = std::abs(float_of(above) - double{x});
  if (to_low == to_high) return float_of((below >> 16) % 2 == 0 ? below : above);
  return float_of(to_low < to_high ? below : above);
}

}  // namespace

TEST_CASE("the size of an encoding is known without the values") {
  auto const size = [](CodecSettings const& settings, std::size_t elements) {
    return encoded_bytes(settings, elements);
  };
  for (auto const& settings : all_codecs) CHECK(size(settings, 0) == 0);
  CHECK(size({.codec = Codec::fp32}, 1001) == 4004);
  CHECK(size(bf16, 1001) == 2002);
  CHECK(size(int8, 256) == 4 + 256);
  CHECK(size(int8, 257) == 4 + 256 + 4 + 1);
  CHECK(size(int4, 256) == 4 + 128);
  CHECK(size(int4, 256 + 7) == 4 + 128 + 4 + 4);
  CHECK(size({.codec = Codec::int4, .block = 2}, 3) == 5 + 5);
  CHECK(size({.codec = Codec::topk}, 4096) == 8 + 96 + 16);
  CHECK(size({.codec = Codec::topk}, 8192 + 1) == 2 * 120 + 8 + 2 + 1);
}

TEST_CASE("settings are held to their ranges") {
  CHECK(check_settings({}).has_value());
  CHECK(check_settings({.block = 2, .chunk = 1, .kept = 1}).has_value());
  CHECK(check_settings({.block = 4096, .chunk = 4096, .kept = 4096}).has_value());
  for (CodecSettings const& wrong :
       {CodecSettings{.codec = static_cast<Codec>(5)}, CodecSettings{.block = 0},
        CodecSettings{.block = 255}, CodecSettings{.block = 4098}, CodecSettings{.chunk = 0},
        CodecSettings{.chunk = 4097}, CodecSettings{.kept = 0}, CodecSettings{.kept = 4097},
        CodecSettings{.chunk = 64, .kept = 65}}) {
    auto const checked = check_settings(wrong);
    REQUIRE_FALSE(checked.has_value());
    CHECK(checked.error().errc() == Errc::unsupported);
  }
}

TEST_CASE("an encoding of another size is refused by every codec") {
  for (auto const& settings : all_codecs) {
    auto bytes = encoded(settings, normal_values(5000, 1));
    bytes.push_back(0);
    check_malformed(settings, bytes, 5000);
    bytes.resize(bytes.size() - 2);
    check_malformed(settings, bytes, 5000);
    check_malformed(settings, {}, 5000);
    check_malformed(settings, Bytes(1), 0);
  }
}

TEST_CASE("no codec encodes what is not finite, wherever it is") {
  for (auto const& settings : all_codecs)
    for (float const bad : {std::numeric_limits<float>::quiet_NaN(),
                            -std::numeric_limits<float>::infinity(), float_of(0xff800001)})
      for (std::size_t const at : {0, 255, 256, 4095, 4096, 4999}) {
        auto values = normal_values(5000, at);
        values[at] = bad;
        Bytes bytes(encoded_bytes(settings, values.size()));
        auto const done = encode(settings, values, bytes);
        REQUIRE_FALSE(done.has_value());
        CHECK(done.error().errc() == Errc::not_finite);
      }
}

TEST_CASE("an encoding cut at a group is two encodings") {
  for (auto const& settings : all_codecs) {
    auto const values = normal_values(3 * 4096 + 100, 3);
    std::size_t const cut = 4096 / group_elements(settings) * group_elements(settings);
    auto const whole = encoded(settings, values);
    auto parts = encoded(settings, std::span(values).first(cut));
    append(parts, encoded(settings, std::span(values).subspan(cut)));
    CHECK(parts == whole);
  }
}

TEST_CASE("fp32 travels as it is, and nothing that is not finite arrives") {
  constexpr CodecSettings fp32{.codec = Codec::fp32};
  for (auto const& values : samples(3000, 5)) {
    auto const bytes = encoded(fp32, values);
    CHECK(std::memcmp(bytes.data(), values.data(), bytes.size()) == 0);
    auto const back = round_trip(fp32, values);
    CHECK(std::memcmp(back.data(), values.data(), bytes.size()) == 0);
  }
  auto bytes = encoded(fp32, normal_values(3000, 5));
  bytes[4 * 2999 + 3] = 0x7f;
  bytes[4 * 2999 + 2] = 0x80;
  check_malformed(fp32, bytes, 3000);
}

TEST_CASE("bf16 is the nearest, of two the even, and never infinite") {
  for (auto const& values : samples(3000, 7)) {
    auto const back = round_trip(bf16, values);
    for (std::size_t i = 0; i < values.size(); ++i)
      REQUIRE(bits_of(back[i]) == bits_of(nearest_bf16(values[i])));
  }
  std::vector<float> const halves{float_of(0x3f808000),
                                  float_of(0x3f818000),
                                  float_of(0x3f808001),
                                  float_of(0xbf807fff),
                                  -FLT_MAX,
                                  float_of(0x00008000)};
  auto const back = round_trip(bf16, halves);
  CHECK(bits_of(back[0]) == 0x3f800000);
  CHECK(bits_of(back[1]) == 0x3f820000);
  CHECK(bits_of(back[2]) == 0x3f810000);
  CHECK(bits_of(back[3]) == 0xbf800000);
  CHECK(bits_of(back[4]) == 0xff7f0000);
  CHECK(bits_of(back[5]) == 0x00000000);
}

TEST_CASE("every finite bf16 comes back as it was, no other is taken") {
  for (std::uint32_t upper = 0; upper <= 0xffff; ++upper) {
    float const value = float_of(upper << 16);
    if (std::isfinite(value)) {
      auto const bytes = encoded(bf16, std::span(&value, 1));
      REQUIRE(bytes ==
              Bytes{static_cast<std::uint8_t>(upper), static_cast<std::uint8_t>(upper >> 8)});
      REQUIRE(bits_of(decoded(bf16, bytes, 1).value()[0]) == upper << 16);
    } else {
      Bytes const bytes{static_cast<std::uint8_t>(upper), static_cast<std::uint8_t>(upper >> 8)};
      REQUIRE_FALSE(decoded(bf16, bytes, 1).has_value());
    }
  }
}

TEST_CASE("int8: the bytes of one block, worked out by hand") {
  // absmax 127, so the scale is 1 and the values are the numbers themselves; halves go to even.
  std::vector<float> const values{127, -127, 0.5F, 1.5F, 2.5F, -0.5F, -1.5F, -0.0F, 126.75F};
  auto const bytes = encoded(int8, values);
  Bytes const expected{0, 0, 0x80, 0x3f, 127, 0x81, 0, 2, 2, 0, 0xfe, 0, 127};
  CHECK(bytes == expected);
  CHECK(decoded(int8, bytes, 9).value() == std::vector<float>{127, -127, 0, 2, 2, 0, -2, 0, 127});
}

TEST_CASE("int4: the bytes of one block, worked out by hand") {
  // absmax 3.5: scale 0.5.
  std::vector<float> const values{3.5F, -3.5F, 0.25F, 0.75F, -0.5F, 1, -1.25F};
  auto const bytes = encoded(int4, values);
  Bytes const expected{0, 0, 0, 0x3f, 0x97, 0x20, 0x2f, 0x0e};
  CHECK(bytes == expected);
  CHECK(decoded(int4, bytes, 7).value() == std::vector<float>{3.5F, -3.5F, 0, 1, -0.5F, 1, -1});
}

TEST_CASE("int8 and int4: the scale is absmax over the levels, no value is off by more than half") {
  CHECK(rc::check("error bound", [] {
    auto const count = *rc::gen::inRange<std::size_t>(1, 3000);
    auto const sigma = std::pow(10, *rc::gen::inRange(-25, 36));
    auto const values = normal_values(count, *rc::gen::arbitrary<std::uint64_t>(), sigma);
    for (auto const& settings : {int8, int4, CodecSettings{.codec = Codec::int4, .block = 64}}) {
      float const levels = settings.codec == Codec::int8 ? 127 : 7;
      auto const bytes = encoded(settings, values);
      auto const back = decoded(settings, bytes, count).value();
      for (std::size_t start = 0; start < count; start += settings.block) {
        std::size_t const end = std::min<std::size_t>(count, start + settings.block);
        float absmax = 0;
        for (std::size_t i = start; i < end; ++i) absmax = std::max(absmax, std::abs(values[i]));
        float const scale = scale_at(bytes, encoded_bytes(settings, start));
        RC_ASSERT(scale == absmax / levels);
        double const bound = scale * (0.5 + 1e-4);
        for (std::size_t i = start; i < end; ++i)
          RC_ASSERT(std::abs(double{values[i]} - double{back[i]}) <= bound);
      }
    }
  }));
}

TEST_CASE(
    "int8 and int4: blocks of nothing or next to nothing are zeros, the largest stay finite") {
  for (auto const& settings : {int8, int4}) {
    for (float const tiny : {0.0F, -0.0F, FLT_TRUE_MIN, FLT_MIN, -0x1.fffffep-101F}) {
      std::vector<float> const values(300, tiny);
      CHECK(encoded(settings, values) == Bytes(encoded_bytes(settings, 300)));
      CHECK(round_trip(settings, values) == std::vector<float>(300));
    }
    for (float const value : {0x1p-100F, -0x1p-100F, 0x1p100F, FLT_MAX, -FLT_MAX}) {
      auto const back = round_trip(settings, std::vector<float>(300, value));
      for (float const x : back) REQUIRE(std::abs(x / value - 1) <= 1e-6F);
    }
  }
}

TEST_CASE("int8 and int4: scales that are none are refused") {
  for (auto const& settings : {int8, int4}) {
    auto bytes = encoded(settings, normal_values(256, 1));
    for (float const good :
         {0.0F, FLT_MIN, 1.0F, scale_at(encoded(settings, std::vector{FLT_MAX}), 0)}) {
      set_scale(bytes, good);
      auto const values = decoded(settings, bytes, 256);
      REQUIRE(values.has_value());
      CHECK(std::ranges::all_of(*values, [](float x) { return std::isfinite(x); }));
    }
    float const largest = scale_at(encoded(settings, std::vector{FLT_MAX}), 0);
    for (float const bad :
         {-0.0F, -1.0F, FLT_TRUE_MIN, std::nextafter(FLT_MIN, 0.0F),
          std::nextafter(largest, FLT_MAX), FLT_MAX, std::numeric_limits<float>::infinity(),
          std::numeric_limits<float>::quiet_NaN()}) {
      set_scale(bytes, bad);
      check_malformed(settings, bytes, 256);
    }
  }
}

TEST_CASE("int8 and int4: values that no encoder makes are refused") {
  for (std::size_t const at : {4, 100, 259}) {
    auto bytes = encoded(int8, normal_values(256, 1));
    bytes[at] = 0x80;
    check_malformed(int8, bytes, 256);
  }
  for (std::size_t const at : {4, 131})
    for (std::uint8_t const bad : {0x08, 0x80, 0x88}) {
      auto bytes = encoded(int4, normal_values(256, 1));
      bytes[at] = bad;
      check_malformed(int4, bytes, 256);
    }
  auto bytes = encoded(int4, normal_values(3, 1));
  bytes.back() |= 0x10;  // beside the last of an odd number
  check_malformed(int4, bytes, 3);
}
