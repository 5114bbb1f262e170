#include "node/pair_state_detail.hpp"

#include "grapevine/mix/average.hpp"
#include "grapevine/mix/pair_correction.hpp"
#include "grapevine/tensor/layout.hpp"

namespace grapevine {
namespace {

std::vector<float> mean_of(std::vector<Blob> const& low, std::vector<Blob> const& high) {
  std::size_t elements = 0;
  for (auto const& blob : low) elements += floats_of(*blob).size();
  std::vector<float> mean(elements);
  std::size_t first = 0;
  for (std::size_t i = 0; i < low.size(); ++i) {
    auto const values = floats_of(*low[i]);
    pair_average(values, floats_of(*high[i]), std::span(mean).subspan(first, values.size()));
    first += values.size();
  }
  return mean;
}

std::vector<float> joined(std::vector<Blob> const& blobs) {
  std::vector<float> flat;
  for (auto const& blob : blobs) {
    auto const values = floats_of(*blob);
    flat.insert(flat.end(), values.begin(), values.end());
  }
  return flat;
}

Result<> check_blobs(std::vector<Blob> const& blobs, std::uint64_t elements) {
  for (std::size_t i = 0; i < blobs.size(); ++i) {
    auto const range = shard_range(elements, static_cast<std::uint32_t>(blobs.size()),
                                   static_cast<std::uint32_t>(i));
    if (blobs[i]->size() != range.count * sizeof(float))
      return fail(Errc::schema_mismatch, "shard " + std::to_string(i) + " of a partner has " +
                                             std::to_string(blobs[i]->size()) + " bytes, not " +
                                             std::to_string(range.count * sizeof(float)));
    if (!all_finite(floats_of(*blobs[i])))
      return fail(Errc::not_finite, "in shard " + std::to_string(i) + " of a partner");
  }
  return {};
}

}  // namespace

Result<double> check_side(PairSide const& side, std::uint64_t elements) {
  TRY(check_blobs(side.parameters, elements));
  TRY(check_blobs(side.gradients, elements));
  double squares = 0;
  for (auto const& blob : side.gradients) squares += squared_norm(floats_of(*blob));
  return norm_of(squares);
}

ModelStatePtr apply_pair(ModelState const& own, OuterSettings const& settings, PairSides sides) {
  auto next = std::make_shared<ModelState>(own);
  ++next->round;
  for (std::size_t i = 0; i < own.parameters.size(); ++i) {
    auto const mean = [i](std::vector<Blob> const& low, std::vector<Blob> const& high,
                          std::size_t first, std::span<float> out) {
      pair_average(floats_of(*low[i]).subspan(first, out.size()),
                   floats_of(*high[i]).subspan(first, out.size()), out);
    };
    auto const fill = [&](std::size_t first, std::span<float> z, std::span<float> d) {
      mean(sides.low.parameters, sides.high.parameters, first, z);
      mean(sides.low.gradients, sides.high.gradients, first, d);
    };
    auto stepped = step_shard(floats_of(*own.momentum[i].blob), settings, fill);
    if (!stepped) return nullptr;
    next->parameters[i] = std::move(stepped->parameters);
    next->momentum[i] = std::move(stepped->momentum);
  }
  describe(*next);
  return next;
}

StateCorrection correction_of(ModelState const& own, OuterSettings const& settings,
                              std::vector<Blob> const& gradients, PairSides sides) {
  auto const z = flatten(own.parameters);
  auto const d = joined(gradients);
  auto const x = mean_of(sides.low.parameters, sides.high.parameters);
  auto const mean = mean_of(sides.low.gradients, sides.high.gradients);
  StateCorrection correction{std::vector<float>(z.size()), std::vector<float>(z.size())};
  pair_correction(settings, {z, x, d, mean}, correction.parameters, correction.momentum);
  return correction;
}

ModelStatePtr corrected(ModelState const& state, StateCorrection const& by) {
  auto parameters = flatten(state.parameters);
  auto momentum = flatten(state.momentum);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    parameters[i] += by.parameters[i];
    momentum[i] += by.momentum[i];
  }
  return make_state(state.run, state.round, static_cast<std::uint32_t>(state.parameters.size()),
                    parameters, momentum);
}

}  // namespace grapevine
