// ModelState: the parameters z and the outer momentum v at the start of a round, cut into shards
// that are blobs at the same time: what is trained from, mixed, served and hashed is one set of
// bytes. Immutable; the functions here are pure and heavy, and run on a worker.
#pragma once

#include "grapevine/mix/outer_optimizer.hpp"
#include "grapevine/net/blob_exchange.hpp"
#include "grapevine/wire/messages.hpp"

#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace grapevine {

// A blob with its Merkle leaves, ready to be served.
struct HashedBlob {
  BlobRef ref;
  std::vector<Hash> leaves;
  Blob blob;
};
[[nodiscard]] HashedBlob hash_blob(Blob blob);

// Blobs of tensors are fp32 little-endian; this machine's floats, seen without a copy.
[[nodiscard]] std::span<float const> floats_of(Bytes const& bytes);
[[nodiscard]] std::span<float> floats_of(Bytes& bytes);

struct ModelState {
  Hash run;
  std::uint64_t round = 0;
  std::vector<HashedBlob> parameters;  // z, one a shard
  std::vector<HashedBlob> momentum;    // v
  HashedBlob descriptor;               // encoded StateDescriptor

  [[nodiscard]] Hash const& hash() const { return descriptor.ref.root; }
};
using ModelStatePtr = std::shared_ptr<ModelState const>;

// Cuts flat vectors; an empty momentum is zero.
[[nodiscard]] ModelStatePtr make_state(Hash const& run, std::uint64_t round, std::uint32_t shards,
                                       std::span<float const> parameters,
                                       std::span<float const> momentum);
// Writes the descriptor anew, after the shards.
void describe(ModelState& state);

// One shard after an outer step; nothing when a value would leave the range of a float.
struct SteppedShard {
  HashedBlob parameters;
  HashedBlob momentum;
};
[[nodiscard]] std::optional<SteppedShard> step_shard(OuterSettings const& settings,
                                                     Bytes const& parameters, Bytes const& momentum,
                                                     Bytes const& gradient);

// The next round's state: an outer step in every shard that has a result, the others unmoved. A
// result so large that the step would leave the range of a float moves nothing either.
[[nodiscard]] ModelStatePtr apply_results(ModelState const& state, OuterSettings const& settings,
                                          std::vector<Blob> const& results);
// From blobs that were pulled, in the order of the descriptor. Errc::not_finite,
// Errc::schema_mismatch.
[[nodiscard]] Result<ModelStatePtr> assemble_state(StateDescriptor const& descriptor,
                                                   std::vector<Blob> parameters,
                                                   std::vector<Blob> momentum,
                                                   std::uint64_t elements);

[[nodiscard]] bool all_finite(ModelState const& state);
[[nodiscard]] std::vector<float> flatten(std::vector<HashedBlob> const& shards);

// The outer gradient D = z_start - theta, cut into shards, and its L2 norm.
struct OuterGradient {
  std::vector<Blob> shards;
  double norm = 0;
};
// Errc::not_finite when theta holds NaN or Inf: it never leaves the machine.
[[nodiscard]] Result<OuterGradient> outer_gradient(std::span<float const> start,
                                                   std::span<float const> theta,
                                                   std::uint32_t shards);

// The L2 norm from its square; Errc::not_finite when it is out of the range of the fp32 field that
// carries it.
[[nodiscard]] Result<double> norm_of(double squares);

// The average of one shard; inputs in canonical order.
struct ShardInput {
  Blob blob;
  std::uint64_t tokens = 0;
};
[[nodiscard]] Blob average_shard(std::span<ShardInput const> inputs);

}  // namespace grapevine
