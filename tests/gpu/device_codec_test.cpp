// The device's encodings and values beside the host's, bit by bit.
#include "grapevine/kernels/device_codec.hpp"
#include "gpu/device_memory.hpp"
#include "unit/kernels/codec_samples.hpp"

#include <algorithm>
#include <limits>

namespace grapevine {
namespace {

constexpr std::size_t lengths[] = {0, 1, 2, 3, 63, 65, 255, 256, 257, 4095, 4096, 4097, 12345};

template <class T>
DeviceMemory on_device(std::span<T const> data) {
  auto memory = device_memory(std::max<std::size_t>(1, data.size_bytes()));
  REQUIRE(cudaMemcpy(memory.get(), data.data(), data.size_bytes(), cudaMemcpyHostToDevice) ==
          cudaSuccess);
  return memory;
}

Result<Bytes> encoded_on_device(CodecSettings const& settings, std::span<float const> values) {
  auto const from = on_device(values);
  Bytes bytes(encoded_bytes(settings, values.size()));
  auto const to = on_device(std::span<std::uint8_t const>(bytes));
  TRY(encode_on_device(settings, static_cast<float const*>(from.get()), values.size(),
                       static_cast<std::uint8_t*>(to.get()), nullptr));
  REQUIRE(cudaMemcpy(bytes.data(), to.get(), bytes.size(), cudaMemcpyDeviceToHost) == cudaSuccess);
  return bytes;
}

Result<std::vector<float>> decoded_on_device(CodecSettings const& settings, ByteView bytes,
                                             std::size_t elements) {
  auto const from = on_device(bytes);
  std::vector<float> values(elements, NAN);
  auto const to = on_device(std::span<float const>(values));
  TRY(decode_on_device(settings, static_cast<std::uint8_t const*>(from.get()), bytes.size(),
                       static_cast<float*>(to.get()), elements, nullptr));
  REQUIRE(cudaMemcpy(values.data(), to.get(), 4 * elements, cudaMemcpyDeviceToHost) == cudaSuccess);
  return values;
}

Bytes bits_of(std::span<float const> values) {
  Bytes bytes(values.size_bytes());
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

}  // namespace

TEST_CASE("the device makes the host's bytes, and the host's values of them") {
  for (auto const& settings : all_codecs)
    for (std::size_t const count : lengths)
      for (auto const& values : samples(count, count + 1)) {
        CAPTURE(codec_name(settings.codec));
        CAPTURE(count);
        auto const expected = encoded(settings, values);
        auto const bytes = encoded_on_device(settings, values);
        REQUIRE(bytes.has_value());
        REQUIRE(*bytes == expected);
        auto const back = decoded_on_device(settings, expected, count);
        REQUIRE(back.has_value());
        REQUIRE(bits_of(*back) == bits_of(decoded(settings, expected, count).value()));
      }
}

TEST_CASE("the device refuses what the host refuses") {
  for (auto const& settings : all_codecs)
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
      CAPTURE(codec_name(settings.codec));
      CAPTURE(seed);
      SeededRandom random(seed);
      auto bytes = encoded(settings, normal_values(4097, seed));
      bytes[random.below(bytes.size())] = static_cast<std::uint8_t>(random.below(256));
      auto const host = decoded(settings, bytes, 4097);
      auto const device = decoded_on_device(settings, bytes, 4097);
      REQUIRE(device.has_value() == host.has_value());
      if (host.has_value()) {
        REQUIRE(bits_of(*device) == bits_of(*host));
      } else {
        REQUIRE(device.error().errc() == Errc::malformed);
      }
    }
}

TEST_CASE("the device encodes nothing that is not finite and decodes no other size") {
  for (auto const& settings : all_codecs) {
    auto values = normal_values(5000, 1);
    auto bytes = encoded(settings, values);
    bytes.pop_back();
    auto const cut = decoded_on_device(settings, bytes, 5000);
    REQUIRE_FALSE(cut.has_value());
    CHECK(cut.error().errc() == Errc::malformed);
    values[4999] = std::numeric_limits<float>::infinity();
    auto const infinite = encoded_on_device(settings, values);
    REQUIRE_FALSE(infinite.has_value());
    CHECK(infinite.error().errc() == Errc::not_finite);
  }
}

}  // namespace grapevine
