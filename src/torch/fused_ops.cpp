#include "torch/fused_ops_detail.hpp"

#include "torch/fused_kernels_detail.hpp"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

namespace grapevine::fused {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

constexpr std::int64_t elements_per_task = 32 * 1024;

bool is_plain(at::Tensor const& x) { return x.device().is_cpu() && x.scalar_type() == at::kFloat; }

float const* data(at::Tensor const& x) { return x.defined() ? x.const_data_ptr<float>() : nullptr; }

template <class Work>
void over_rows(std::int64_t rows, std::int64_t row_elements, Work const& work) {
  at::parallel_for(0, rows, std::max<std::int64_t>(1, elements_per_task / row_elements),
                   [&](std::int64_t first, std::int64_t last) {
                     work(static_cast<std::size_t>(first), static_cast<std::size_t>(last));
                   });
}

NormForward norm_arguments(at::Tensor const& a, at::Tensor const& b, at::Tensor const& weight,
                           at::Tensor const& sum, at::Tensor const& y, at::Tensor const& inverse,
                           double eps) {
  return {.a = data(a),
          .b = data(b),
          .sum = sum.defined() ? sum.mutable_data_ptr<float>() : nullptr,
          .weight = data(weight),
          .y = y.mutable_data_ptr<float>(),
          .inverse = inverse.mutable_data_ptr<float>(),
          .width = static_cast<std::size_t>(a.size(-1)),
          .eps = static_cast<float>(eps)};
}

// dx and dweight. Each thread sums its own share of dweight; the shares are added in order.
std::pair<at::Tensor, at::Tensor> norm_gradient(AutogradContext* context, at::Tensor const& dy,
                                                at::Tensor const& dsum) {
  auto const saved = context->get_saved_variables();
  auto const& x = saved[0];
  auto const& weight = saved[1];
  auto const dy_rows = dy.contiguous();
  auto const dsum_rows = dsum.defined() ? dsum.contiguous() : dsum;
  auto dx = at::empty_like(x);
  auto shares = at::zeros({at::get_num_threads(), x.size(-1)}, x.options());
  NormBackward const args{.x = data(x),
                          .weight = data(weight),
                          .inverse = data(saved[2]),
                          .dy = data(dy_rows),
                          .dsum = data(dsum_rows),
                          .dx = dx.mutable_data_ptr<float>(),
                          .width = static_cast<std::size_t>(x.size(-1))};
  float* const share = shares.mutable_data_ptr<float>();
  over_rows(x.size(0), x.size(1), [&](std::size_t first, std::size_t last) {
    auto const thread = static_cast<std::size_t>(at::get_thread_num());
    norm_backward(args, share + thread * args.width, first, last);
  });
  return {dx, shares.sum(0)};
}

struct Norm : Function<Norm> {
  static at::Tensor forward(AutogradContext* context, at::Tensor const& x, at::Tensor const& weight,
                            double eps) {
    auto y = at::empty_like(x);
    auto inverse = at::empty({x.size(0)}, x.options());
    auto const args = norm_arguments(x, {}, weight, {}, y, inverse, eps);
    over_rows(x.size(0), x.size(1),
              [&](std::size_t first, std::size_t last) { norm_forward(args, first, last); });
    context->save_for_backward({x, weight, inverse});
    return y;
  }
  static variable_list backward(AutogradContext* context, variable_list const& grads) {
    auto [dx, dweight] = norm_gradient(context, grads[0], {});
    return {dx, dweight, {}};
  }
};

struct AddNorm : Function<AddNorm> {
  static variable_list forward(AutogradContext* context, at::Tensor const& a, at::Tensor const& b,
                               at::Tensor const& weight, double eps) {
    auto sum = at::empty_like(a);
    auto y = at::empty_like(a);
    auto inverse = at::empty({a.size(0)}, a.options());
    auto const args = norm_arguments(a, b, weight, sum, y, inverse, eps);
    over_rows(a.size(0), a.size(1),
              [&](std::size_t first, std::size_t last) { norm_forward(args, first, last); });
    // The sum behind the last layer has no reader; a gradient of zeros for it would cost a pass.
    context->set_materialize_grads(false);
    context->save_for_backward({sum, weight, inverse});
    return {sum, y};
  }
  static variable_list backward(AutogradContext* context, variable_list const& grads) {
    auto [dx, dweight] = norm_gradient(context, grads[1], grads[0]);
    return {dx, dx, dweight, {}};
  }
};

struct Swiglu : Function<Swiglu> {
  static at::Tensor forward(AutogradContext* context, at::Tensor const& gate_up) {
    std::int64_t const inner = gate_up.size(1) / 2;
    auto out = at::empty({gate_up.size(0), inner}, gate_up.options());
    float* const to = out.mutable_data_ptr<float>();
    over_rows(gate_up.size(0), gate_up.size(1), [&](std::size_t first, std::size_t last) {
      swiglu_forward(data(gate_up), to, static_cast<std::size_t>(inner), first, last);
    });
    context->save_for_backward({gate_up});
    return out;
  }
  static variable_list backward(AutogradContext* context, variable_list const& grads) {
    auto const gate_up = context->get_saved_variables()[0];
    auto const dout = grads[0].contiguous();
    auto dgate_up = at::empty_like(gate_up);
    float* const to = dgate_up.mutable_data_ptr<float>();
    auto const inner = static_cast<std::size_t>(dout.size(1));
    over_rows(gate_up.size(0), gate_up.size(1), [&](std::size_t first, std::size_t last) {
      swiglu_backward(data(gate_up), data(dout), to, inner, first, last);
    });
    return {dgate_up};
  }
};

at::Tensor turned(at::Tensor const& x, at::Tensor const& cosine, at::Tensor const& sine,
                  float sign) {
  auto out = at::empty(x.sizes(), x.options());
  Rotation const args{.in = data(x),
                      .out = out.mutable_data_ptr<float>(),
                      .cosine = data(cosine),
                      .sine = data(sine),
                      .heads = static_cast<std::size_t>(x.size(2)),
                      .half = static_cast<std::size_t>(x.size(3) / 2),
                      .context = static_cast<std::size_t>(x.size(1)),
                      .sign = sign};
  over_rows(x.size(0) * x.size(1), x.size(2) * x.size(3),
            [&](std::size_t first, std::size_t last) { rotate(args, first, last); });
  return out;
}

struct Rotate : Function<Rotate> {
  static at::Tensor forward(AutogradContext* context, at::Tensor const& x, at::Tensor const& cosine,
                            at::Tensor const& sine) {
    context->save_for_backward({cosine, sine});
    return turned(x, cosine, sine, 1);
  }
  static variable_list backward(AutogradContext* context, variable_list const& grads) {
    auto const saved = context->get_saved_variables();
    return {turned(grads[0].contiguous(), saved[0], saved[1], -1), {}, {}};
  }
};

}  // namespace

at::Tensor norm(at::Tensor const& x, at::Tensor const& weight, float eps) {
  if (is_plain(x)) return Norm::apply(x, weight, double{eps});
  return at::rms_norm(x, weight.sizes(), weight, eps);
}

std::pair<at::Tensor, at::Tensor> add_norm(at::Tensor const& a, at::Tensor const& b,
                                           at::Tensor const& weight, float eps) {
  if (is_plain(a) && is_plain(b)) {
    auto out = AddNorm::apply(a, b, weight, double{eps});
    return {out[0], out[1]};
  }
  auto sum = a + b;
  return {sum, at::rms_norm(sum, weight.sizes(), weight, eps)};
}

at::Tensor swiglu(at::Tensor const& gate_up) {
  if (is_plain(gate_up)) return Swiglu::apply(gate_up);
  auto const parts = gate_up.chunk(2, -1);
  return at::silu(parts[0]) * parts[1];
}

at::Tensor rotate(at::Tensor const& x, at::Tensor const& cosine, at::Tensor const& sine) {
  if (is_plain(x)) return Rotate::apply(x.contiguous(), cosine, sine);
  auto const wide = [&](at::Tensor const& table) {
    return table.narrow(0, 0, x.size(1)).unsqueeze(1).to(x.scalar_type());
  };
  auto const parts = x.chunk(2, -1);
  auto const c = wide(cosine);
  auto const s = wide(sine);
  return at::cat({parts[0] * c - parts[1] * s, parts[1] * c + parts[0] * s}, -1);
}

}  // namespace grapevine::fused
