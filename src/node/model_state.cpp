#include "grapevine/base/assert.hpp"
#include "grapevine/base/limits.hpp"
#include "grapevine/crypto/merkle.hpp"
#include "grapevine/mix/average.hpp"
#include "grapevine/tensor/layout.hpp"
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

void describe(ModelState& state) {
  StateDescriptor descriptor;
  descriptor.run = state.run;
  descriptor.round = state.round;
  for (auto const& shard : state.parameters) descriptor.parameters.push_back(shard.ref);
  for (auto const& shard : state.momentum) descriptor.momentum.push_back(shard.ref);
  state.descriptor = hash_blob(std::make_shared<Bytes const>(encode(descriptor)));
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

ModelStatePtr apply_results(ModelState const& state, OuterSettings const& settings,
                            std::vector<Blob> const& results) {
  ASSERT(results.size() == state.parameters.size());
  auto next = std::make_shared<ModelState>(state);
  ++next->round;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i] == nullptr) continue;
    auto parameters = std::make_shared<Bytes>(*state.parameters[i].blob);
    auto momentum = std::make_shared<Bytes>(*state.momentum[i].blob);
    outer_step(settings, floats_of(*results[i]), floats_of(*momentum), floats_of(*parameters));
    if (!all_finite(floats_of(*parameters)) || !all_finite(floats_of(*momentum))) continue;
    next->parameters[i] = hash_blob(std::move(parameters));
    next->momentum[i] = hash_blob(std::move(momentum));
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
  std::vector<float> flat;
  for (auto const& shard : shards) {
    auto const values = floats_of(*shard.blob);
    flat.insert(flat.end(), values.begin(), values.end());
  }
  return flat;
}

Result<OuterGradient> outer_gradient(std::span<float const> start, std::span<float const> theta,
                                     std::uint32_t shards) {
  ASSERT(start.size() == theta.size());
  std::vector<float> gradient(start.size());
  for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] = start[i] - theta[i];
  if (!all_finite(gradient)) return fail(Errc::not_finite, "in the outer gradient");
  TRY_ASSIGN(double const norm, norm_of(squared_norm(gradient)));
  return OuterGradient{cut(gradient, shards), norm};
}

Result<double> norm_of(double squares) {
  double const norm = std::sqrt(squares);
  if (norm > std::numeric_limits<float>::max())
    return fail(Errc::not_finite, "the norm of an outer gradient");
  return norm;
}

HashedBlob average_shard(std::span<ShardInput const> inputs) {
  ASSERT(!inputs.empty());
  std::vector<WeightedInput> weighted;
  for (auto const& input : inputs)
    weighted.push_back({floats_of(*input.blob), static_cast<double>(input.tokens)});
  auto result = std::make_shared<Bytes>(inputs.front().blob->size());
  weighted_average(weighted, floats_of(*result));
  return hash_blob(std::move(result));
}

}  // namespace grapevine
