// The parts of a transformer layer that are bound by memory, each as one pass over plain fp32 rows
// where LibTorch on a CPU makes three to six. No LibTorch here. A call works on the rows it is
// given, so the caller splits them over threads; rows do not depend on each other, and sums run in
// a fixed order of lanes, so results do not depend on the split or on the vector width of the CPU.
#pragma once

#include <cstddef>
#include <cstdint>

namespace grapevine::fused {

// y = x / rms(x) * weight (Zhang and Sennrich 2019, RMSNorm), with x = a + b first when b is given
// (then a + b goes to `sum`). inverse[row] = 1 / rms.
struct NormForward {
  float const* a = nullptr;
  float const* b = nullptr;  // may be null
  float* sum = nullptr;      // [rows, width], when b is given
  float const* weight = nullptr;
  float* y = nullptr;
  float* inverse = nullptr;
  std::size_t width = 0;
  float eps = 0;
};
void norm_forward(NormForward const& args, std::size_t first, std::size_t last);

// dx = the gradient through the norm, plus `dsum` when given. Adds to dweight[width].
struct NormBackward {
  float const* x = nullptr;
  float const* weight = nullptr;
  float const* inverse = nullptr;
  float const* dy = nullptr;
  float const* dsum = nullptr;  // may be null
  float* dx = nullptr;
  std::size_t width = 0;
};
void norm_backward(NormBackward const& args, float* dweight, std::size_t first, std::size_t last);

// out = silu(gate) * up, where a row of gate_up is [gate | up] (Shazeer 2020, SwiGLU).
void swiglu_forward(float const* gate_up, float* out, std::size_t inner, std::size_t first,
                    std::size_t last);
void swiglu_backward(float const* gate_up, float const* dout, float* dgate_up, std::size_t inner,
                     std::size_t first, std::size_t last);

// Rotary positions (Su et al. 2021) in Hugging Face's layout: element i of a head turns with
// element i + half. Row r is position r % context; cosine and sine are [context, half]. `sign` -1
// turns back, which is the gradient.
struct Rotation {
  float const* in = nullptr;  // [rows, heads, 2 half]
  float* out = nullptr;
  float const* cosine = nullptr;
  float const* sine = nullptr;
  std::size_t heads = 0;
  std::size_t half = 0;
  std::size_t context = 0;
  float sign = 1;
};
void rotate(Rotation const& args, std::size_t first, std::size_t last);

}  // namespace grapevine::fused
