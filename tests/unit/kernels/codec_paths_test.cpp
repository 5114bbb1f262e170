// What each instruction set makes of the same input, bit by bit.
#include "kernels/codec_paths_detail.hpp"
#include "unit/kernels/codec_samples.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <string>

using namespace grapevine;
using codec_detail::Fault;

namespace {

constexpr std::size_t lengths[] = {0,   1,   2,   3,    15,   16,   17,   31,   63,   65,   127,
                                   255, 256, 257, 1000, 4095, 4096, 4097, 8191, 9000, 12345};

Bytes random_bytes(std::size_t count, std::uint64_t seed) {
  Bytes bytes(count);
  SeededRandom(seed).fill(bytes);
  return bytes;
}

struct Outcome {
  Fault fault = Fault::none;
  Bytes bytes;  // of what came out; empty after a fault
  bool operator==(Outcome const&) const = default;
};

Outcome encode_on(codec_detail::CodecPath const& path, CodecSettings const& settings,
                  std::span<float const> values) {
  Bytes bytes(encoded_bytes(settings, values.size()), 0xcc);
  auto const fault = path.encode(settings, values.data(), values.size(), bytes.data());
  if (fault != Fault::none) bytes.clear();
  return {fault, bytes};
}

Outcome decode_on(codec_detail::CodecPath const& path, CodecSettings const& settings,
                  ByteView encoded, std::size_t count) {
  std::vector<float> values(count, NAN);
  auto const fault = path.decode(settings, encoded.data(), values.data(), count);
  if (fault != Fault::none) return {fault, {}};
  Bytes bytes(count * sizeof(float));
  if (count > 0) std::memcpy(bytes.data(), values.data(), bytes.size());
  return {fault, bytes};
}

}  // namespace

TEST_CASE("there is a path for every CPU, and the last one is used") {
  auto const paths = codec_detail::usable_paths();
  REQUIRE_FALSE(paths.empty());
  for (auto const& path : paths) MESSAGE("codec path: " << std::string(path.name));
  CHECK(codec_instruction_set() == paths.back().name);
}

TEST_CASE("every path makes the same bytes, and the same values of them") {
  auto const paths = codec_detail::usable_paths();
  for (auto const& settings : all_codecs)
    for (std::size_t const count : lengths)
      for (auto const& values : samples(count, count + 1)) {
        CAPTURE(codec_name(settings.codec));
        CAPTURE(count);
        auto const expected = encode_on(paths.front(), settings, values);
        REQUIRE(expected.fault == Fault::none);
        auto const back = decode_on(paths.front(), settings, expected.bytes, count);
        REQUIRE(back.fault == Fault::none);
        for (auto const& path : paths.subspan(1)) {
          CAPTURE(path.name);
          REQUIRE(encode_on(path, settings, values) == expected);
          REQUIRE(decode_on(path, settings, expected.bytes, count) == back);
        }
      }
}

TEST_CASE("every path says the same of bytes that nobody encoded") {
  auto const paths = codec_detail::usable_paths();
  for (auto const& settings : all_codecs)
    for (std::size_t const count : {1, 17, 255, 4097})
      for (std::uint64_t seed = 0; seed < 50; ++seed) {
        auto bytes = random_bytes(encoded_bytes(settings, count), seed);
        if (seed % 2 == 0) {  // one wrong byte among good ones, elsewhere each time
          auto const good = encode_on(paths.front(), settings, normal_values(count, seed)).bytes;
          std::size_t const at = bytes[0] % good.size();
          auto const wrong = bytes.back();
          bytes = good;
          bytes[at] = wrong;
        }
        auto const expected = decode_on(paths.front(), settings, bytes, count);
        for (auto const& path : paths.subspan(1))
          REQUIRE(decode_on(path, settings, bytes, count) == expected);
      }
}
