#include "app/noise_swarm.hpp"

#include "grapevine/mix/average.hpp"

#include <cmath>
#include <numbers>

namespace grapevine {

NoiseSwarm::NoiseSwarm(NoiseMixing mixing, std::size_t peers, std::size_t elements,
                       std::uint64_t seed)
    : mixing_(mixing), elements_(elements), random_(seed) {
  Vectors const zeros(peers, std::vector<float>(elements));
  parameters_ = momentum_ = gradients_ = mixed_ = zeros;
}

double NoiseSwarm::round() {
  train();
  double const apart = distance();
  auto const first = match();
  auto const second = match();
  mix(parameters_, elements_, mixing_.parameters, first);
  if (mixing_.momentum_mixed) mix(momentum_, elements_, mixing_.parameters, first);
  auto const share = static_cast<double>(elements_) * mixing_.gradient_share;
  mix(gradients_, static_cast<std::size_t>(std::lround(share)), mixing_.gradients, second);
  for (std::size_t m = 0; m < parameters_.size(); ++m)
    outer_step(mixing_.outer, gradients_[m], momentum_[m], parameters_[m]);
  return apart;
}

// Standard normal noise, two values at a time (Box and Muller).
void NoiseSwarm::train() {
  for (auto& gradient : gradients_) {
    for (std::size_t i = 0; i < elements_; i += 2) {
      double const radius = std::sqrt(-2 * std::log(1 - random_.unit()));
      double const angle = 2 * std::numbers::pi * random_.unit();
      gradient[i] = static_cast<float>(radius * std::cos(angle));
      if (i + 1 < elements_) gradient[i + 1] = static_cast<float>(radius * std::sin(angle));
    }
  }
}

// The mean over ordered pairs of |a - b|^2 is 2 / (M - 1) times the sum of the squared deviations
// from the mean; of noise of variance one it is 2 an element.
double NoiseSwarm::distance() const {
  auto const peers = static_cast<double>(parameters_.size());
  double squares = 0;
  for (std::size_t i = 0; i < elements_; ++i) {
    double sum = 0, sum_of_squares = 0;
    for (std::size_t m = 0; m < parameters_.size(); ++m) {
      double const theta = static_cast<double>(parameters_[m][i]) - gradients_[m][i];
      sum += theta;
      sum_of_squares += theta * theta;
    }
    squares += sum_of_squares - sum * sum / peers;
  }
  return squares / (peers - 1) / static_cast<double>(elements_);
}

NoiseSwarm::Partners NoiseSwarm::match() {
  std::vector<std::size_t> order(parameters_.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  random_.shuffle(std::span(order));
  Partners partners(order.size());
  for (std::size_t i = 0; i + 1 < order.size(); i += 2) {
    if (random_.unit() >= mixing_.matched) continue;
    partners[order[i]] = order[i + 1];
    partners[order[i + 1]] = order[i];
  }
  return partners;
}

void NoiseSwarm::mix(Vectors& values, std::size_t elements, MixPattern pattern,
                     Partners const& partners) {
  if (pattern == MixPattern::none) return;
  mixed_ = values;
  std::vector<WeightedInput> everyone;
  for (auto const& one : values) everyone.push_back({std::span(one).first(elements), 1});
  for (std::size_t m = 0; m < values.size(); ++m) {
    auto const out = std::span(mixed_[m]).first(elements);
    if (pattern == MixPattern::global) {
      weighted_average(everyone, out);
    } else if (auto const partner = partners[m]) {
      auto const low = std::min(m, *partner), high = std::max(m, *partner);
      pair_average(everyone[low].values, everyone[high].values, out);
    }
  }
  std::swap(values, mixed_);
}

}  // namespace grapevine
