#include "grapevine/kernels/staging.hpp"
#include "gpu/device_memory.hpp"
#include "grapevine/base/random.hpp"

#include <algorithm>

namespace grapevine {
namespace {

constexpr std::size_t megabyte = 1 << 20;

PinnedBuffer pinned(std::size_t bytes) {
  auto buffer = PinnedBuffer::allocate(bytes);
  REQUIRE(buffer.has_value());
  return *std::move(buffer);
}

CopyStream copy_stream() {
  auto stream = CopyStream::open(0);
  REQUIRE(stream.has_value());
  return *std::move(stream);
}

}  // namespace

TEST_CASE("what goes to the device comes back the same, at any offset") {
  auto const device = device_memory(megabyte);
  auto out = pinned(megabyte + 3);
  auto back = pinned(megabyte + 5);
  auto stream = copy_stream();
  SeededRandom(1).fill(out.bytes());
  REQUIRE(stream.to_device(device.get(), out, 3, megabyte).has_value());
  REQUIRE(stream.to_host(back, 5, device.get(), megabyte).has_value());
  REQUIRE(stream.wait().has_value());
  CHECK(stream.idle().value());
  CHECK(std::ranges::equal(out.bytes().subspan(3), back.bytes().subspan(5)));
}

TEST_CASE("a copy past the end of the pinned buffer is refused") {
  auto const device = device_memory(16);
  auto buffer = pinned(16);
  auto stream = copy_stream();
  CHECK(stream.to_host(buffer, 0, device.get(), 16).has_value());
  CHECK(stream.to_host(buffer, 16, device.get(), 0).has_value());
  for (auto const& [offset, bytes] :
       {std::pair<std::size_t, std::size_t>{0, 17}, {1, 16}, {17, 0}, {16, SIZE_MAX}}) {
    auto const copied = stream.to_host(buffer, offset, device.get(), bytes);
    REQUIRE_FALSE(copied.has_value());
    CHECK(copied.error().errc() == Errc::oversize);
    CHECK_FALSE(stream.to_device(device.get(), buffer, offset, bytes).has_value());
  }
}

TEST_CASE("a copy waits for the stream that computes its input, and a stream for the copies") {
  auto const device = device_memory(64 * megabyte);
  auto buffer = pinned(64 * megabyte);
  auto copies = copy_stream();
  cudaStream_t compute = nullptr;
  REQUIRE(cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking) == cudaSuccess);
  for (int round = 1; round <= 20; ++round) {
    REQUIRE(cudaMemsetAsync(device.get(), 0xee, 64 * megabyte, compute) == cudaSuccess);
    REQUIRE(cudaMemsetAsync(device.get(), round, 64 * megabyte, compute) == cudaSuccess);
    REQUIRE(copies.start_after(compute).has_value());
    REQUIRE(copies.to_host(buffer, 0, device.get(), 64 * megabyte).has_value());
    REQUIRE(copies.hold_back(compute).has_value());  // or the next memset would run into the copy
  }
  REQUIRE(copies.wait().has_value());
  CHECK(std::ranges::all_of(buffer.bytes(), [](std::uint8_t byte) { return byte == 20; }));
  REQUIRE(cudaStreamSynchronize(compute) == cudaSuccess);
  cudaStreamDestroy(compute);
}

TEST_CASE("moving leaves one owner") {
  auto first = pinned(64);
  first.bytes()[0] = 7;
  auto second = std::move(first);
  CHECK(second.bytes()[0] == 7);
  first = pinned(32);
  std::swap(first, second);
  CHECK(first.bytes().size() == 64);
  auto stream = copy_stream();
  auto moved = std::move(stream);
  CHECK(moved.wait().has_value());
}

}  // namespace grapevine
