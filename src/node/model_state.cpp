#include "grapevine/base/assert.hpp"
#include "grapevine/base/limits.hpp"
#include "grapevine/crypto/merkle.hpp"
#include "grapevine/mix/average.hpp"
#include "grapevine/tensor/layout.hpp"
#include "node/blob_builder_detail.hpp"
#include "node/model_state_detail.hpp"

#include <bit>
#include <cmath>
#include <limits>

namespace grapevine {
namespace {

static_assert(std::endian::native == std::endian::little, "tensors travel in this byte order");

Blob blob_of(std::span<float const> values) {
  auto const* const data = reinterpret_cast<std::uint8_t const*>(values.data());
  return std::make_shared<Bytes const>(data, data + values.size_bytes());
}

std::vector<HashedBlob> cut(std::span<float const> flat, std::uint32_t shards) {
  std::vector<HashedBlob> cut;
  for (std::uint32_t i = 0; i < shards; ++i) {
    auto const range = shard_range(flat.size(), shards, i);
    cut.push_back(hash_blob(blob_of(flat.subspan(range.first, range.count))));
  }
  return cut;
}

Result<std::vector<HashedBlob>> check_shards(std::vector<Blob> const& blobs,
                                             std::vector<BlobRef> const& refs,
                                             std::uint64_t elements) {
  std::vector<HashedBlob> shards;
  for (std::size_t i = 0; i < refs.size(); ++i) {
    auto const range = shard_range(elements, static_cast<std::uint32_t>(refs.size()),
                                   static_cast<std::uint32_t>(i));
    if (blobs[i]->size() != range.count * sizeof(float))
      return fail(Errc::schema_mismatch, "shard " + std::to_string(i) + " has " +
                                             std::to_string(blobs[i]->size()) + " bytes, not " +
                                             std::to_string(range.count * sizeof(float)));
    if (!all_finite(floats_of(*blobs[i])))
      return fail(Errc::not_finite, "in shard " + std::to_string(i) + " of a state");
    shards.push_back({refs[i], merkle_leaves(*blobs[i], limits::blob_chunk_bytes), blobs[i]});
  }
  return shards;
}

}  // namespace

HashedBlob hash_blob(Blob blob) {
  HashedBlob hashed;
  hashed.leaves = merkle_leaves(*blob, limits::blob_chunk_bytes);
  hashed.ref = {merkle_root(hashed.leaves), blob->size()};
  hashed.blob = std::move(blob);
  return hashed;
}

std::span<float const> floats_of(Bytes const& bytes) {
  ASSERT(bytes.size() % sizeof(float) == 0);
  return {reinterpret_cast<float const*>(bytes.data()), bytes.size() / sizeof(float)};
}

std::span<float> floats_of(Bytes& bytes) {
  ASSERT(bytes.size() % sizeof(float) == 0);
  return {reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float)};
}

ModelStatePtr make_state(Hash const& run, std::uint64_t round, std::uint32_t shards,
                         std::span<float const> parameters, std::span<float const> momentum) {
  auto state = std::make_shared<ModelState>();
  state->run = run;
  state->round = round;
  state->parameters = cut(parameters, shards);
  std::vector<float> const zeros(momentum.empty() ? parameters.size() : 0);
  state->momentum = cut(momentum.empty() ? std::span<float const>(zeros) : momentum, shards);
  describe(*state);
  return state;
}

std::optional<SteppedShard> step_shard(OuterSettings const& settings, Bytes const& parameters,
                                       Bytes const& momentum, Bytes const& gradient) {
  Tile z_tile, v_tile;
  auto const z_before = floats_of(parameters), v_before = floats_of(momentum);
  auto const d = floats_of(gradient);
  BlobBuilder parameters_after(z_before.size()), momentum_after(z_before.size());
  while (!parameters_after.complete()) {
    auto const first = parameters_after.size();
    auto const z = parameters_after.next(z_tile);
    auto const v = parameters_after.next(v_tile);
    std::ranges::copy(z_before.subspan(first, z.size()), z.begin());
    std::ranges::copy(v_before.subspan(first, v.size()), v.begin());
    outer_step(settings, d.subspan(first, z.size()), v, z);
    if (!all_finite(z) || !all_finite(v)) return std::nullopt;
    parameters_after.append(z);
    momentum_after.append(v);
  }
  return SteppedShard{hash_blob(parameters_after.take()), hash_blob(momentum_after.take())};
}

void describe(ModelState& state) {
  StateDescriptor descriptor;
  descriptor.run = state.run;
  descriptor.round = state.round;
  for (auto const& shard : state.parameters) descriptor.parameters.push_back(shard.ref);
  for (auto const& shard : state.momentum) descriptor.momentum.push_back(shard.ref);
  state.descriptor = hash_blob(std::make_shared<Bytes const>(encode(descriptor)));
}

ModelStatePtr apply_results(ModelState const& state, OuterSettings const& settings,
                            std::vector<Blob> const& results) {
  ASSERT(results.size() == state.parameters.size());
  auto next = std::make_shared<ModelState>(state);
  ++next->round;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i] == nullptr) continue;
    auto stepped =
        step_shard(settings, *state.parameters[i].blob, *state.momentum[i].blob, *results[i]);
    if (!stepped) continue;
    next->parameters[i] = std::move(stepped->parameters);
    next->momentum[i] = std::move(stepped->momentum);
  }
  describe(*next);
  return next;
}

Result<ModelStatePtr> assemble_state(StateDescriptor const& descriptor,
                                     std::vector<Blob> parameters, std::vector<Blob> momentum,
                                     std::uint64_t elements) {
  auto state = std::make_shared<ModelState>();
  state->run = descriptor.run;
  state->round = descriptor.round;
  TRY_ASSIGN(state->parameters, check_shards(parameters, descriptor.parameters, elements));
  TRY_ASSIGN(state->momentum, check_shards(momentum, descriptor.momentum, elements));
  describe(*state);
  return state;
}

bool all_finite(ModelState const& state) {
  for (auto const* shards : {&state.parameters, &state.momentum})
    for (auto const& shard : *shards)
      if (!all_finite(floats_of(*shard.blob))) return false;
  return true;
}

std::vector<float> flatten(std::vector<HashedBlob> const& shards) {
  std::size_t elements = 0;
  for (auto const& shard : shards) elements += floats_of(*shard.blob).size();
  std::vector<float> flat;
  flat.reserve(elements);
  for (auto const& shard : shards) {
    auto const values = floats_of(*shard.blob);
    flat.insert(flat.end(), values.begin(), values.end());
  }
  return flat;
}

Result<OuterGradient> outer_gradient(std::span<float const> start, std::span<float const> theta,
                                     std::uint32_t shards) {
  ASSERT(start.size() == theta.size());
  OuterGradient gradient;
  double squares = 0;
  Tile tile;
  for (std::uint32_t i = 0; i < shards; ++i) {
    auto const range = shard_range(start.size(), shards, i);
    BlobBuilder blob(range.count);
    while (!blob.complete()) {
      auto const first = range.first + blob.size();
      auto const values = blob.next(tile);
      for (std::size_t j = 0; j < values.size(); ++j)
        values[j] = start[first + j] - theta[first + j];
      if (!all_finite(values)) return fail(Errc::not_finite, "in the outer gradient");
      squares += squared_norm(values);
      blob.append(values);
    }
    gradient.shards.push_back(blob.take());
  }
  TRY_ASSIGN(gradient.norm, norm_of(squares));
  return gradient;
}

Result<double> norm_of(double squares) {
  double const norm = std::sqrt(squares);
  if (norm > std::numeric_limits<float>::max())
    return fail(Errc::not_finite, "the norm of an outer gradient");
  return norm;
}

Blob average_shard(std::span<ShardInput const> inputs) {
  ASSERT(!inputs.empty());
  auto const bytes = inputs.front().blob->size();
  for (auto const& input : inputs) ASSERT(input.blob->size() == bytes);
  BlobBuilder average(bytes / sizeof(float));
  Tile tile;
  while (!average.complete()) {
    auto const values = average.next(tile);
    std::vector<WeightedInput> weighted;
    for (auto const& input : inputs)
      weighted.push_back({floats_of(*input.blob).subspan(average.size(), values.size()),
                          static_cast<double>(input.tokens)});
    weighted_average(weighted, values);
    average.append(values);
  }
  return average.take();
}

}  // namespace grapevine
