// What holds on every machine, with a device or without: failures are values and name the thing.
// The copies themselves are in tests/gpu.
#include "grapevine/kernels/staging.hpp"

#include <doctest/doctest.h>

namespace grapevine {

TEST_CASE("asking for devices answers a count above zero, or says why there are none") {
  auto const count = cuda_device_count();
  if (count.has_value()) {
    CHECK(*count > 0);
  } else {
    CHECK(count.error().errc() == Errc::device_unavailable);
    CHECK_FALSE(count.error().detail().empty());
  }
}

TEST_CASE("a pinned buffer of no bytes is refused before any device is asked") {
  auto const buffer = PinnedBuffer::allocate(0);
  REQUIRE_FALSE(buffer.has_value());
  CHECK(buffer.error().errc() == Errc::malformed);
}

TEST_CASE("a pinned buffer needs a driver") {
  auto buffer = PinnedBuffer::allocate(4096);
  REQUIRE(buffer.has_value() == cuda_device_count().has_value());
  if (buffer.has_value())
    CHECK(buffer->bytes().size() == 4096);
  else
    CHECK(buffer.error().errc() == Errc::device_unavailable);
}

TEST_CASE("a device that is not there is an error") {
  for (int const device : {-1, 4096}) {
    auto const stream = CopyStream::open(device);
    REQUIRE_FALSE(stream.has_value());
    CHECK(stream.error().errc() == Errc::device_unavailable);
  }
}

}  // namespace grapevine
