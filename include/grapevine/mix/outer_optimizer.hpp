// The outer optimizer of DiLoCo (arXiv 2311.08105): SGD with Nesterov momentum on the averaged
// outer gradient D, in the PyTorch convention:
//   v <- mu v + D ;   z <- z - lr (D + mu v)      (nesterov)
//   v <- mu v + D ;   z <- z - lr v               (heavy ball)
// Elementwise, fp32, same bits everywhere. Pure; any thread.
#pragma once

#include <span>

namespace grapevine {

struct OuterSettings {
  float lr = 0.7F;
  float momentum = 0.9F;
  bool nesterov = true;
  // gamma of NoLoCo (arXiv 2506.10911), for peers with states of their own: what an exchange would
  // move the parameters by goes into the outer gradient instead, as -(pull / lr) (mean(z) - z), so
  // that momentum acts on it too. 0: the parameters move at once.
  float pull = 0;
};

void outer_step(OuterSettings const& settings, std::span<float const> gradient,
                std::span<float> momentum, std::span<float> parameters);

}  // namespace grapevine
