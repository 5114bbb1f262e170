// Without a device, the codecs of one say so. What they do with one is in tests/gpu.
#include "grapevine/kernels/device_codec.hpp"
#include "grapevine/kernels/staging.hpp"

#include <doctest/doctest.h>

namespace grapevine {

TEST_CASE("codecs on a device that is not there are an error") {
  if (cuda_device_count().has_value()) return;
  float value = 1;
  Bytes bytes(4);
  auto const encoded = encode_on_device({}, &value, 1, bytes.data(), nullptr);
  REQUIRE_FALSE(encoded.has_value());
  CHECK(encoded.error().errc() == Errc::device_unavailable);
  auto const decoded = decode_on_device({}, bytes.data(), 4, &value, 1, nullptr);
  REQUIRE_FALSE(decoded.has_value());
  CHECK(decoded.error().errc() == Errc::device_unavailable);
}

}  // namespace grapevine
