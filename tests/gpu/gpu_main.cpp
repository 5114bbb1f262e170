// main of the tests that need a CUDA device: a machine without one skips them and says so.
#define DOCTEST_CONFIG_IMPLEMENT
#include "grapevine/kernels/staging.hpp"

#include <doctest/doctest.h>

#include <cstdio>

int main(int argc, char** argv) {
  auto const devices = grapevine::cuda_device_count();
  if (!devices.has_value()) {
    std::printf("skipped: %s\n", devices.error().message().c_str());
    return 77;
  }
  return doctest::Context(argc, argv).run();
}
