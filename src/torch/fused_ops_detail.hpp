// Differentiable operations of a transformer layer. On a CPU in fp32 they are one pass each
// (fused_kernels); elsewhere they are put together from LibTorch's own. For this module alone.
#pragma once

#include <ATen/core/Tensor.h>

#include <utility>

namespace grapevine::fused {

[[nodiscard]] at::Tensor norm(at::Tensor const& x, at::Tensor const& weight, float eps);
// a + b, and its norm.
[[nodiscard]] std::pair<at::Tensor, at::Tensor> add_norm(at::Tensor const& a, at::Tensor const& b,
                                                         at::Tensor const& weight, float eps);
[[nodiscard]] at::Tensor swiglu(at::Tensor const& gate_up);
// x [sequences, length, heads, width]; cosine and sine [context, width / 2], length <= context.
[[nodiscard]] at::Tensor rotate(at::Tensor const& x, at::Tensor const& cosine,
                                at::Tensor const& sine);

}  // namespace grapevine::fused
