// Top-k beside the slow way: sort everything, write a string of bits.
#include "grapevine/kernels/codec.hpp"
#include "unit/kernels/codec_samples.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>

using namespace grapevine;

namespace {

constexpr CodecSettings topk{.codec = Codec::topk};

// A chunk as its definition says.
struct Chunk {
  std::vector<std::size_t> places;
  std::vector<int> bins;
  std::vector<float> means;  // of the bins, as bf16
};

float bf16_rounded(float value) {
  Bytes const bytes = encoded({.codec = Codec::bf16}, std::span(&value, 1));
  return decoded({.codec = Codec::bf16}, bytes, 1).value()[0];
}

std::vector<std::size_t> largest_places(std::span<float const> values, std::size_t kept) {
  std::vector<std::size_t> places(values.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::ranges::stable_sort(
      places, [&](auto a, auto b) { return std::abs(values[a]) > std::abs(values[b]); });
  places.resize(kept);
  std::ranges::sort(places);
  return places;
}

Chunk slow_chunk(std::span<float const> values, std::size_t kept) {
  Chunk chunk{.places = largest_places(values, kept), .bins = {}, .means = {}};
  double sum = 0, squares = 0;
  for (auto const place : chunk.places) sum += values[place];
  double const mean = sum / static_cast<double>(kept);
  for (auto const place : chunk.places) squares += (values[place] - mean) * (values[place] - mean);
  double const sigma = kept > 1 ? std::sqrt(squares / static_cast<double>(kept - 1)) : 0;
  double const scale = sigma > 0 ? 6 * sigma / 4 : 1;
  for (auto const place : chunk.places)
    chunk.bins.push_back(
        static_cast<int>(std::clamp(std::nearbyint((values[place] - mean) / scale + 2), 0.0, 3.0)));
  for (int bin = 0; bin < 4; ++bin) {
    double total = 0;
    int count = 0;
    for (std::size_t i = 0; i < kept; ++i)
      if (chunk.bins[i] == bin) total += values[chunk.places[i]], ++count;
    chunk.means.push_back(count > 0 ? bf16_rounded(static_cast<float>(total / count)) : 0);
  }
  return chunk;
}

// Low bits first, filled with zeros to whole bytes.
std::string bits(std::uint64_t value, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += (value >> i & 1) != 0 ? '1' : '0';
  return text;
}
void append_bits(Bytes& out, std::string text) {
  text.resize((text.size() + 7) / 8 * 8, '0');
  for (std::size_t i = 0; i < text.size(); i += 8) {
    int byte = 0;
    for (std::size_t j = 0; j < 8; ++j) byte |= (text[i + j] == '1') << j;
    out.push_back(static_cast<std::uint8_t>(byte));
  }
}

Bytes chunk_bytes(Chunk const& chunk) {
  Bytes out = encoded({.codec = Codec::bf16}, chunk.means);
  std::string places, bins;
  for (auto const place : chunk.places) places += bits(place, 12);
  for (auto const bin : chunk.bins) bins += bits(static_cast<std::uint64_t>(bin), 2);
  append_bits(out, places);
  append_bits(out, bins);
  return out;
}

void check_against_slow_way(CodecSettings const& settings, std::span<float const> values) {
  Bytes expected_bytes;
  std::vector<float> expected(values.size());
  for (std::size_t start = 0; start < values.size(); start += settings.chunk) {
    auto const part =
        values.subspan(start, std::min<std::size_t>(settings.chunk, values.size() - start));
    auto const kept = static_cast<std::size_t>(
        std::ceil(static_cast<double>(part.size()) * settings.kept / settings.chunk));
    auto const chunk = slow_chunk(part, kept);
    append(expected_bytes, chunk_bytes(chunk));
    for (std::size_t i = 0; i < kept; ++i)
      expected[start + chunk.places[i]] = chunk.means[static_cast<std::size_t>(chunk.bins[i])];
  }
  auto const bytes = encoded(settings, values);
  REQUIRE(bytes == expected_bytes);
  auto const back = decoded(settings, bytes, values.size());
  REQUIRE(back.has_value());
  REQUIRE(*back == expected);
}

bool is_malformed(Bytes const& bytes, std::size_t elements) {
  auto const result = decoded(topk, bytes, elements);
  return !result.has_value() && result.error().errc() == Errc::malformed;
}

}  // namespace

TEST_CASE("top-k: the same as sorting, for every kind of value and tail") {
  for (std::size_t const count : {1, 2, 63, 64, 65, 128, 1000, 4095, 4096, 4097, 9001})
    for (auto const& values : samples(count, count)) check_against_slow_way(topk, values);
}

TEST_CASE("top-k: the same as sorting, for other chunks too") {
  CHECK(rc::check("any chunk", [] {
    auto const chunk = *rc::gen::inRange<std::uint32_t>(1, 4097);
    CodecSettings const settings{.codec = Codec::topk,
                                 .chunk = chunk,
                                 .kept = *rc::gen::inRange<std::uint32_t>(1, chunk + 1)};
    auto const count = *rc::gen::inRange<std::size_t>(0, 6000);
    auto const seed = *rc::gen::arbitrary<std::uint64_t>();
    check_against_slow_way(settings, normal_values(count, seed));
    check_against_slow_way(settings, coarse_values(count, seed));
  }));
}

TEST_CASE("top-k: 64 of 4096 is 0.22 bit a parameter as published; the table adds a fifteenth") {
  double const parameters = 4096;
  double const bytes = static_cast<double>(encoded_bytes(topk, 4096));
  double const table = 8;
  CHECK((bytes - table) * 8 / parameters == doctest::Approx(0.21875));
  CHECK(2 * parameters / (bytes - table) == doctest::Approx(73.14).epsilon(1e-4));
  CHECK(bytes * 8 / parameters == doctest::Approx(0.234375));
  CHECK(2 * parameters / bytes == doctest::Approx(68.27).epsilon(1e-4));
}

TEST_CASE("top-k: of equals the first are kept") {
  std::vector<float> values(4096, -1);
  values[4000] = 2;
  auto const back = decoded(topk, encoded(topk, values), 4096).value();
  for (std::size_t i = 0; i < 4096; ++i) CHECK((back[i] != 0) == (i < 63 || i == 4000));
}

TEST_CASE("top-k: what no encoder makes is refused") {
  auto const good = encoded(topk, normal_values(4096, 1));
  REQUIRE_FALSE(is_malformed(good, 4096));
  constexpr std::size_t places = 8;

  auto bytes = good;
  bytes[7] = 0x7f;  // a table of infinity, of NaN
  bytes[6] = 0x80;
  CHECK(is_malformed(bytes, 4096));
  bytes[6] = 0xc1;
  CHECK(is_malformed(bytes, 4096));

  bytes = good;  // two places the same
  bytes[places + 1] = static_cast<std::uint8_t>((bytes[places + 1] & 0x0f) | bytes[places] << 4);
  bytes[places + 2] = static_cast<std::uint8_t>(bytes[places] >> 4 | bytes[places + 1] << 4);
  CHECK(is_malformed(bytes, 4096));
  bytes = good;  // the second place 0
  bytes[places + 1] &= 0x0f;
  bytes[places + 2] = 0;
  CHECK(is_malformed(bytes, 4096));

  // A tail of 65 keeps two; of 1 keeps one, beside which 4 and 6 bits are left.
  auto const tail = encoded(topk, normal_values(65, 1));
  REQUIRE(tail.size() == 8 + 3 + 1);
  bytes = tail;
  bytes[places + 2] = 65 >> 4;
  bytes[places + 1] = static_cast<std::uint8_t>((bytes[places + 1] & 0x0f) | (65 & 0x0f) << 4);
  CHECK(is_malformed(bytes, 65));
  bytes = tail;
  bytes.back() |= 0x10;
  CHECK(is_malformed(bytes, 65));
  auto const one = encoded(topk, normal_values(1, 1));
  REQUIRE(one.size() == 8 + 2 + 1);
  bytes = one;
  bytes[places + 1] |= 0x10;
  CHECK(is_malformed(bytes, 1));
  bytes = one;
  bytes.back() |= 0x04;
  CHECK(is_malformed(bytes, 1));
}
