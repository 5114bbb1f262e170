// Which device to compute on, whether the model fits it, and how LibTorch's exceptions become
// errors. For the .cpp files of this module alone.
#pragma once

#include "grapevine/torch/torch_trainer.hpp"

#include <ATen/core/Tensor.h>
#include <c10/util/Exception.h>

#include <new>
#include <string>

namespace grapevine {

// Of "auto", "cpu", "cuda" or "cuda:N". Errc::usage, or device_unavailable with the fix.
[[nodiscard]] Result<c10::Device> choose_device(std::string const& name);

// Bytes that training takes at its peak: four vectors of parameters, and the activations.
[[nodiscard]] std::uint64_t training_bytes(ModelConfig const& model, std::uint64_t elements,
                                           std::uint64_t sequences);
// Errc::model_too_large with both numbers.
[[nodiscard]] Result<> check_memory(c10::Device device, std::uint64_t needed_bytes);

void set_threads(std::uint32_t threads);

// Runs `work`, which returns a Result, and makes an Error of what LibTorch throws.
template <class Work>
[[nodiscard]] auto guarded(Work const& work) -> decltype(work()) {
  try {
    return work();
  } catch (c10::OutOfMemoryError const& e) {
    return fail(Errc::out_of_memory, e.what_without_backtrace());
  } catch (c10::Error const& e) {
    return fail(Errc::internal, e.what_without_backtrace());
  } catch (std::bad_alloc const&) {
    return fail(Errc::out_of_memory, "host memory");
  }
}

}  // namespace grapevine
