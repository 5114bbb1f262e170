#include "torch/fused_kernels_detail.hpp"

#include <bit>
#include <cmath>

// One body, compiled for each vector width; the loader picks the widest that the CPU has.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__SANITIZE_ADDRESS__)
#define GRAPEVINE_WIDEST __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define GRAPEVINE_WIDEST
#endif

namespace grapevine::fused {
namespace {

constexpr std::size_t lanes = 16;

// The helpers are inlined into each clone; called, they would all be the narrow one.

// e^x to 2 in the last place: x = n ln 2 + r, a polynomial for e^r, 2^n put into the exponent.
[[gnu::always_inline]] inline float exponential(float x) {
  x = x < -87.0F ? -87.0F : x;
  x = x > 88.0F ? 88.0F : x;
  constexpr float rounder = 12582912.0F;  // 1.5 * 2^23: adding it leaves an integer
  float const shifted = x * 1.44269504F + rounder;
  float const n = shifted - rounder;
  float const r = (x - n * 0.693359375F) + n * 2.12194440e-4F;
  float p = 1.9875691500e-4F;
  p = p * r + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  p = p * r * r + r + 1.0F;
  auto const exponent = std::bit_cast<std::uint32_t>(shifted) << 23;
  return p * std::bit_cast<float>(exponent + (127U << 23));
}

[[gnu::always_inline]] inline float sigmoid(float x) { return 1.0F / (1.0F + exponential(-x)); }

[[gnu::always_inline]] inline float sum_of(float const (&partial)[lanes]) {
  float sum = 0;
  for (float const value : partial) sum += value;
  return sum;
}

[[gnu::always_inline]] inline float dot(float const* a, float const* b, float const* c,
                                        std::size_t count) {
  float partial[lanes] = {};
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes)
    for (std::size_t j = 0; j < lanes; ++j) partial[j] += a[i + j] * b[i + j] * c[i + j];
  for (std::size_t j = 0; i + j < count; ++j) partial[j] += a[i + j] * b[i + j] * c[i + j];
  return sum_of(partial);
}

[[gnu::always_inline]] inline float squares(float const* a, std::size_t count) {
  float partial[lanes] = {};
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes)
    for (std::size_t j = 0; j < lanes; ++j) partial[j] += a[i + j] * a[i + j];
  for (std::size_t j = 0; i + j < count; ++j) partial[j] += a[i + j] * a[i + j];
  return sum_of(partial);
}

}  // namespace

GRAPEVINE_WIDEST
void norm_forward(NormForward const& args, std::size_t first, std::size_t last) {
  std::size_t const width = args.width;
  float const* const weight = args.weight;
  for (std::size_t row = first; row < last; ++row) {
    float const* x = args.a + row * width;
    if (args.b != nullptr) {
      float const* const b = args.b + row * width;
      float* const sum = args.sum + row * width;
      for (std::size_t i = 0; i < width; ++i) sum[i] = x[i] + b[i];
      x = sum;
    }
    float const mean = squares(x, width) / static_cast<float>(width);
    float const inverse = 1.0F / std::sqrt(mean + args.eps);
    float* const y = args.y + row * width;
    for (std::size_t i = 0; i < width; ++i) y[i] = x[i] * inverse * weight[i];
    args.inverse[row] = inverse;
  }
}

GRAPEVINE_WIDEST
void norm_backward(NormBackward const& args, float* dweight, std::size_t first, std::size_t last) {
  std::size_t const width = args.width;
  float const* const weight = args.weight;
  for (std::size_t row = first; row < last; ++row) {
    float const* const x = args.x + row * width;
    float const* const dy = args.dy + row * width;
    float* const dx = args.dx + row * width;
    float const inverse = args.inverse[row];
    float const mean = dot(x, dy, weight, width) / static_cast<float>(width);
    float const back = mean * inverse * inverse * inverse;
    for (std::size_t i = 0; i < width; ++i) dweight[i] += dy[i] * x[i] * inverse;
    for (std::size_t i = 0; i < width; ++i) dx[i] = dy[i] * weight[i] * inverse - x[i] * back;
    if (args.dsum == nullptr) continue;
    float const* const dsum = args.dsum + row * width;
    for (std::size_t i = 0; i < width; ++i) dx[i] += dsum[i];
  }
}

GRAPEVINE_WIDEST
void swiglu_forward(float const* gate_up, float* out, std::size_t inner, std::size_t first,
                    std::size_t last) {
  for (std::size_t row = first; row < last; ++row) {
    float const* const gate = gate_up + row * 2 * inner;
    float const* const up = gate + inner;
    float* const to = out + row * inner;
    for (std::size_t i = 0; i < inner; ++i) to[i] = gate[i] * sigmoid(gate[i]) * up[i];
  }
}

GRAPEVINE_WIDEST
void swiglu_backward(float const* gate_up, float const* dout, float* dgate_up, std::size_t inner,
                     std::size_t first, std::size_t last) {
  for (std::size_t row = first; row < last; ++row) {
    float const* const gate = gate_up + row * 2 * inner;
    float const* const up = gate + inner;
    float const* const from = dout + row * inner;
    float* const dgate = dgate_up + row * 2 * inner;
    float* const dup = dgate + inner;
    for (std::size_t i = 0; i < inner; ++i) {
      float const s = sigmoid(gate[i]);
      float const activation = gate[i] * s;
      dgate[i] = from[i] * up[i] * (s + activation * (1.0F - s));
      dup[i] = from[i] * activation;
    }
  }
}

GRAPEVINE_WIDEST
void rotate(Rotation const& args, std::size_t first, std::size_t last) {
  std::size_t const half = args.half;
  for (std::size_t row = first; row < last; ++row) {
    float const* const cosine = args.cosine + row % args.context * half;
    float const* const sine = args.sine + row % args.context * half;
    for (std::size_t head = 0; head < args.heads; ++head) {
      std::size_t const at = (row * args.heads + head) * 2 * half;
      float const* const in = args.in + at;
      float* const out = args.out + at;
      for (std::size_t i = 0; i < half; ++i) {
        float const s = sine[i] * args.sign;
        out[i] = in[i] * cosine[i] - in[i + half] * s;
        out[i + half] = in[i + half] * cosine[i] + in[i] * s;
      }
    }
  }
}

}  // namespace grapevine::fused
