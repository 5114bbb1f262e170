// What travels for one shard of a mixing: an encoding (kernels/codec.hpp), which is served, and
// the values that all who receive it work with. The sender works with the same values, so that
// everyone computes from one set of numbers. Pure and heavy: on a worker.
#pragma once

#include "grapevine/kernels/codec.hpp"
#include "grapevine/kernels/error_feedback.hpp"
#include "node/model_state_detail.hpp"

namespace grapevine {

struct SentShard {
  HashedBlob served;
  Blob values;  // fp32
};

// Errc::not_finite when a value is.
[[nodiscard]] Result<SentShard> encode_shard(Codec codec, Blob values);
// With what earlier encodings left out; the delivery is open then (kernels/error_feedback.hpp).
[[nodiscard]] Result<SentShard> encode_shard(Codec codec, ErrorFeedback& feedback,
                                             Blob const& values);
// From any bytes: the values. Errc::malformed, Errc::schema_mismatch (of another size),
// Errc::not_finite.
[[nodiscard]] Result<Blob> decode_shard(Codec codec, Blob encoded, std::uint64_t elements);

// The L2 norm of the values together; Errc::not_finite when no message could carry it.
[[nodiscard]] Result<double> norm_of_shards(std::span<SentShard const> shards);
// Errc::limit_exceeded when the norm of a part is more than what is claimed for the whole.
[[nodiscard]] Result<> check_norm(Bytes const& values, float claimed);

}  // namespace grapevine
