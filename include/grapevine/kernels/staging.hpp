// Copies between a CUDA device and page-locked host memory, on a stream of their own, so that a
// copy runs beside the training step instead of between two of them. Owned by the torch module;
// used on its worker thread only. Device pointers and streams come from whoever owns them
// (LibTorch) as `void*`: no CUDA header leaks out of here. Never allocates device memory and never
// waits unless `wait` is called. A program built without a CUDA compiler has the same functions;
// each answers Errc::device_unavailable. Source: CUDA C++ Programming Guide, "Page-Locked Host
// Memory" and "Streams".
#pragma once

#include "grapevine/base/bytes.hpp"

#include <cstddef>

namespace grapevine {

// How many CUDA devices this process can use; device_unavailable with the reason when none.
[[nodiscard]] Result<int> cuda_device_count();

// Page-locked memory of the host: the only kind that a device copies without a hidden second copy.
class PinnedBuffer {
 public:
  [[nodiscard]] static Result<PinnedBuffer> allocate(std::size_t bytes);  // bytes > 0
  PinnedBuffer(PinnedBuffer&& other) noexcept;
  PinnedBuffer& operator=(PinnedBuffer&& other) noexcept;
  ~PinnedBuffer();

  [[nodiscard]] MutableByteView bytes() { return {static_cast<std::uint8_t*>(data_), size_}; }
  [[nodiscard]] ByteView bytes() const { return {static_cast<std::uint8_t const*>(data_), size_}; }

 private:
  PinnedBuffer(void* data, std::size_t size) : data_(data), size_(size) {}

  void* data_;
  std::size_t size_;
};

// One side stream of one device. Copies run in the order they were queued; between `to_host` or
// `to_device` and the end of `wait` neither end of the copy may be touched or freed.
class CopyStream {
 public:
  [[nodiscard]] static Result<CopyStream> open(int device);
  CopyStream(CopyStream&& other) noexcept;
  CopyStream& operator=(CopyStream&& other) noexcept;
  ~CopyStream();  // waits for what is queued: the copies must not outlive their buffers

  // Copies queued from now on start after all work queued so far on `stream`, a cudaStream_t of the
  // same device (null: the default stream). Call it before reading what that stream computes.
  Result<> start_after(void* stream);
  // The other direction: work queued from now on on `stream` starts after the copies queued so far.
  Result<> hold_back(void* stream);

  // `offset` and the length must lie inside the pinned buffer: Errc::oversize otherwise.
  Result<> to_host(PinnedBuffer& to, std::size_t offset, void const* device_data,
                   std::size_t bytes);
  Result<> to_device(void* device_data, PinnedBuffer const& from, std::size_t offset,
                     std::size_t bytes);

  Result<> wait();                    // blocks until every queued copy is done
  [[nodiscard]] Result<bool> idle();  // whether that is so already

 private:
  CopyStream(int device, void* stream, void* event)
      : device_(device), stream_(stream), event_(event) {}

  int device_;
  void* stream_;
  void* event_;  // marks a point in one stream for the other to wait on; reused
};

}  // namespace grapevine
