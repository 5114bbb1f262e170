#include "torch/device_detail.hpp"

#include <ATen/Context.h>
#include <ATen/DeviceAccelerator.h>
#include <ATen/Parallel.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <thread>

namespace grapevine {
namespace {

constexpr std::uint64_t mebibyte = 1024 * 1024;

Result<> load_once() {
  // Loading LibTorch's part without a driver takes seconds and ends in the same answer.
  if (::dlopen("libcuda.so.1", RTLD_NOW) == nullptr)
    return fail(Errc::device_unavailable, "no NVIDIA driver: libcuda.so.1 cannot be loaded");
  if (::dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_GLOBAL) != nullptr) return {};
  char const* const reason = ::dlerror();
  return fail(Errc::device_unavailable,
              fmt::format("the CUDA part of LibTorch cannot be loaded ({}): run tools/setup --cuda",
                          reason != nullptr ? reason : "no reason given"));
}

Result<c10::Device> cuda_device(c10::DeviceIndex index) {
  TRY(load_cuda_backend());
  if (!at::globalContext().hasCUDA())
    return fail(Errc::device_unavailable, "the NVIDIA driver offers no usable GPU");
  int const count = at::detail::getCUDAHooks().deviceCount();
  if (index >= count)
    return fail(Errc::device_unavailable,
                fmt::format("cuda:{} where there are {} GPUs", index, count));
  return c10::Device(c10::kCUDA, index);
}

// A line of "MemAvailable:   12345 kB".
std::uint64_t host_memory_available() {
  std::ifstream file("/proc/meminfo");
  for (std::string word; file >> word;) {
    std::uint64_t kibibytes = 0;
    if (word == "MemAvailable:" && file >> kibibytes) return kibibytes * 1024;
  }
  return UINT64_MAX;  // not known: the allocator will say
}

// What is left under the memory limit of this process's control group, if there is one.
std::uint64_t group_memory_available() {
  std::uint64_t limit = 0;
  std::uint64_t used = 0;
  std::ifstream max("/sys/fs/cgroup/memory.max");
  std::ifstream current("/sys/fs/cgroup/memory.current");
  if (!(max >> limit) || !(current >> used)) return UINT64_MAX;
  return limit - std::min(limit, used);
}

}  // namespace

Result<> load_cuda_backend() {
  static Result<> const loaded = load_once();
  return loaded;
}

Result<c10::Device> choose_device(std::string const& name) {
  if (name == "cpu") return c10::Device(c10::kCPU);
  if (name == "auto") {
    auto const cuda = cuda_device(0);
    return cuda ? *cuda : c10::Device(c10::kCPU);
  }
  if (name == "cuda") return cuda_device(0);
  constexpr std::string_view prefix = "cuda:";
  int index = -1;
  auto const* const end = name.data() + name.size();
  if (name.starts_with(prefix)) {
    auto const parsed = std::from_chars(name.data() + prefix.size(), end, index);
    if (parsed.ec == std::errc() && parsed.ptr == end && index >= 0 && index < 64)
      return cuda_device(static_cast<c10::DeviceIndex>(index));
  }
  return fail(Errc::usage, fmt::format("device {:.32} is none of auto, cpu, cuda, cuda:N", name));
}

std::uint64_t training_bytes(ModelConfig const& model, std::uint64_t elements,
                             std::uint64_t sequences) {
  // Kept for the backward pass of one layer: seven rows of the hidden size (two norms with their
  // inputs, queries, attention, output), two of the key heads, three of the inner size.
  std::uint64_t const kv = std::uint64_t{model.hidden_size} / model.heads * model.kv_heads;
  std::uint64_t const layer = 7ull * model.hidden_size + 2 * kv + 3ull * model.intermediate_size;
  std::uint64_t const row = layer * model.layers + 3ull * model.vocab_size;
  std::uint64_t const weights = 4 * elements;  // values, gradient, two moments
  return 4 * (weights + row * model.context * sequences);
}

Result<> check_memory(c10::Device device, std::uint64_t needed_bytes) {
  std::uint64_t const available =
      device.is_cuda() ? at::getDeviceAllocator(c10::kCUDA)->getMemoryInfo(device.index()).first
                       : std::min(host_memory_available(), group_memory_available());
  if (needed_bytes <= available) return {};
  return fail(Errc::model_too_large,
              fmt::format("training needs about {} MiB, {} has {} MiB free",
                          needed_bytes / mebibyte, device.str(), available / mebibyte));
}

void set_threads(std::uint32_t threads) {
  if (threads == 0) threads = std::max(1U, std::thread::hardware_concurrency());
  at::set_num_threads(static_cast<int>(threads));
}

}  // namespace grapevine
