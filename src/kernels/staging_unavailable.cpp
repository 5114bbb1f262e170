// The functions of staging.hpp for a build without a CUDA compiler (see staging.cu for the others).
// No object of these classes can come into being here: `allocate` and `open` always fail.
#include "grapevine/kernels/staging.hpp"

namespace grapevine {
namespace {

tl::unexpected<Error> unavailable() {
  return fail(Errc::device_unavailable, "this program was built without CUDA");
}

}  // namespace

Result<int> cuda_device_count() { return unavailable(); }

Result<PinnedBuffer> PinnedBuffer::allocate(std::size_t bytes) {
  if (bytes == 0) return fail(Errc::malformed, "a pinned buffer of 0 bytes");
  return unavailable();
}
PinnedBuffer::PinnedBuffer(PinnedBuffer&& other) noexcept = default;
PinnedBuffer& PinnedBuffer::operator=(PinnedBuffer&& other) noexcept = default;
PinnedBuffer::~PinnedBuffer() = default;

Result<CopyStream> CopyStream::open(int) { return unavailable(); }
CopyStream::CopyStream(CopyStream&& other) noexcept = default;
CopyStream& CopyStream::operator=(CopyStream&& other) noexcept = default;
CopyStream::~CopyStream() = default;

Result<> CopyStream::start_after(void*) { return unavailable(); }
Result<> CopyStream::hold_back(void*) { return unavailable(); }
Result<> CopyStream::to_host(PinnedBuffer&, std::size_t, void const*, std::size_t) {
  return unavailable();
}
Result<> CopyStream::to_device(void*, PinnedBuffer const&, std::size_t, std::size_t) {
  return unavailable();
}
Result<> CopyStream::wait() { return unavailable(); }
Result<bool> CopyStream::idle() { return unavailable(); }

}  // namespace grapevine
