// Memory of the current CUDA device, freed at the end of a test.
#pragma once

#include <cuda_runtime_api.h>
#include <doctest/doctest.h>

#include <memory>

namespace grapevine {

struct FreeDevice {
  void operator()(void* data) const { cudaFree(data); }
};
using DeviceMemory = std::unique_ptr<void, FreeDevice>;

inline DeviceMemory device_memory(std::size_t bytes) {
  void* data = nullptr;
  REQUIRE(cudaMalloc(&data, bytes) == cudaSuccess);
  return DeviceMemory(data);
}

}  // namespace grapevine
