#include "grapevine/kernels/staging.hpp"

#include "kernels/cuda_error.cuh"

#include <string>
#include <utility>

namespace grapevine {
namespace {

Result<> checked(char const* what, int device, cudaError_t error) {
  if (error == cudaSuccess) return {};
  return cuda_failure("cuda:" + std::to_string(device) + ": " + what, error);
}

// The current device is a property of the thread, shared with LibTorch: put back what was there.
class DeviceGuard {
 public:
  explicit DeviceGuard(int device) {
    if (cudaGetDevice(&before_) != cudaSuccess) before_ = device;
    error_ = cudaSetDevice(device);
  }
  DeviceGuard(DeviceGuard const&) = delete;
  DeviceGuard& operator=(DeviceGuard const&) = delete;
  ~DeviceGuard() { cudaSetDevice(before_); }

  [[nodiscard]] cudaError_t error() const { return error_; }

 private:
  int before_ = 0;
  cudaError_t error_ = cudaSuccess;
};

Result<> inside(ByteView buffer, std::size_t offset, std::size_t bytes) {
  if (offset <= buffer.size() && bytes <= buffer.size() - offset) return {};
  return fail(Errc::oversize, "copy of " + std::to_string(bytes) + " bytes at " +
                                  std::to_string(offset) + " of a pinned buffer of " +
                                  std::to_string(buffer.size()));
}

cudaStream_t as_stream(void* stream) { return static_cast<cudaStream_t>(stream); }
cudaEvent_t as_event(void* event) { return static_cast<cudaEvent_t>(event); }

// Makes `later` wait for what is queued on `earlier` so far.
cudaError_t order(cudaEvent_t event, cudaStream_t earlier, cudaStream_t later) {
  auto const error = cudaEventRecord(event, earlier);
  return error == cudaSuccess ? cudaStreamWaitEvent(later, event, 0) : error;
}

}  // namespace

Result<int> cuda_device_count() {
  int count = 0;
  auto const error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess) return cuda_failure("looking for CUDA devices", error);
  return count;
}

Result<PinnedBuffer> PinnedBuffer::allocate(std::size_t bytes) {
  if (bytes == 0) return fail(Errc::malformed, "a pinned buffer of 0 bytes");
  void* data = nullptr;
  auto const error = cudaHostAlloc(&data, bytes, cudaHostAllocPortable);
  if (error != cudaSuccess)
    return cuda_failure("pinning " + std::to_string(bytes) + " bytes of memory", error);
  return PinnedBuffer(data, bytes);
}

PinnedBuffer::PinnedBuffer(PinnedBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

PinnedBuffer& PinnedBuffer::operator=(PinnedBuffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

PinnedBuffer::~PinnedBuffer() {
  if (data_ != nullptr) cudaFreeHost(data_);
}

Result<CopyStream> CopyStream::open(int device) {
  TRY_ASSIGN(int const count, cuda_device_count());
  if (device < 0 || device >= count)
    return fail(Errc::device_unavailable, "cuda:" + std::to_string(device) + ": this machine has " +
                                              std::to_string(count) + " CUDA devices");
  DeviceGuard const guard(device);
  TRY(checked("selecting it", device, guard.error()));
  cudaStream_t stream = nullptr;
  cudaEvent_t event = nullptr;
  TRY(checked("opening a copy stream", device,
              cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking)));
  auto const made = cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  if (made != cudaSuccess) cudaStreamDestroy(stream);
  TRY(checked("making an event", device, made));
  return CopyStream(device, stream, event);
}

CopyStream::CopyStream(CopyStream&& other) noexcept
    : device_(other.device_),
      stream_(std::exchange(other.stream_, nullptr)),
      event_(std::exchange(other.event_, nullptr)) {}

CopyStream& CopyStream::operator=(CopyStream&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(stream_, other.stream_);
  std::swap(event_, other.event_);
  return *this;
}

CopyStream::~CopyStream() {
  if (stream_ == nullptr) return;
  cudaStreamSynchronize(as_stream(stream_));
  cudaEventDestroy(as_event(event_));
  cudaStreamDestroy(as_stream(stream_));
}

Result<> CopyStream::start_after(void* stream) {
  DeviceGuard const guard(device_);
  return checked("ordering a copy after a stream", device_,
                 order(as_event(event_), as_stream(stream), as_stream(stream_)));
}

Result<> CopyStream::hold_back(void* stream) {
  DeviceGuard const guard(device_);
  return checked("ordering a stream after the copies", device_,
                 order(as_event(event_), as_stream(stream_), as_stream(stream)));
}

Result<> CopyStream::to_host(PinnedBuffer& to, std::size_t offset, void const* device_data,
                             std::size_t bytes) {
  TRY(inside(to.bytes(), offset, bytes));
  return checked("copy to the host", device_,
                 cudaMemcpyAsync(to.bytes().data() + offset, device_data, bytes,
                                 cudaMemcpyDeviceToHost, as_stream(stream_)));
}

Result<> CopyStream::to_device(void* device_data, PinnedBuffer const& from, std::size_t offset,
                               std::size_t bytes) {
  TRY(inside(from.bytes(), offset, bytes));
  return checked("copy to the device", device_,
                 cudaMemcpyAsync(device_data, from.bytes().data() + offset, bytes,
                                 cudaMemcpyHostToDevice, as_stream(stream_)));
}

Result<> CopyStream::wait() {
  return checked("waiting for copies", device_, cudaStreamSynchronize(as_stream(stream_)));
}

Result<bool> CopyStream::idle() {
  auto const state = cudaStreamQuery(as_stream(stream_));
  if (state == cudaErrorNotReady) return false;
  TRY(checked("asking for copies", device_, state));
  return true;
}

}  // namespace grapevine
