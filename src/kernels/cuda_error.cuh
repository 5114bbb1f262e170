// Failures of the CUDA runtime as errors of ours.
#pragma once

#include "grapevine/base/result.hpp"

#include <cuda_runtime_api.h>

#include <string>

namespace grapevine {

inline tl::unexpected<Error> cuda_failure(std::string const& what, cudaError_t error) {
  cudaGetLastError();  // or the next call would report this one again
  auto const errc =
      error == cudaErrorMemoryAllocation ? Errc::out_of_memory : Errc::device_unavailable;
  return fail(errc, what + ": " + cudaGetErrorString(error));
}

}  // namespace grapevine
