#include "node/sent_shard_detail.hpp"

#include "grapevine/base/assert.hpp"
#include "grapevine/mix/average.hpp"

#include <fmt/format.h>

#include <cmath>

namespace grapevine {
namespace {

constexpr double rounding = 1.001;  // of sums in another order

SentShard sent(Codec codec, Blob encoded, std::uint64_t elements) {
  auto values = decode_shard(codec, encoded, elements);
  ASSERT(values.has_value());
  return {hash_blob(std::move(encoded)), std::move(*values)};
}

}  // namespace

Result<SentShard> encode_shard(Codec codec, Blob values) {
  auto const floats = floats_of(*values);
  if (codec == Codec::fp32) {
    if (!all_finite(floats)) return fail(Errc::not_finite, "in a shard to send");
    return SentShard{hash_blob(values), values};
  }
  CodecSettings const settings{.codec = codec};
  auto encoded = std::make_shared<Bytes>(encoded_bytes(settings, floats.size()));
  TRY(encode(settings, floats, *encoded));
  return sent(codec, std::move(encoded), floats.size());
}

Result<SentShard> encode_shard(Codec codec, ErrorFeedback& feedback, Blob const& values) {
  auto const floats = floats_of(*values);
  TRY_ASSIGN(auto encoded, feedback.encode(floats));
  return sent(codec, std::move(encoded), floats.size());
}

Result<Blob> decode_shard(Codec codec, Blob encoded, std::uint64_t elements) {
  CodecSettings const settings{.codec = codec};
  if (encoded->size() != encoded_bytes(settings, elements))
    return fail(Errc::schema_mismatch, "a shard of another size");
  if (codec == Codec::fp32) {
    if (!all_finite(floats_of(*encoded))) return fail(Errc::not_finite, "in a shard");
    return encoded;
  }
  auto values = std::make_shared<Bytes>(elements * sizeof(float));
  TRY(decode(settings, *encoded, floats_of(*values)));
  return values;
}

Result<double> norm_of_shards(std::span<SentShard const> shards) {
  double squares = 0;
  for (auto const& shard : shards) squares += squared_norm(floats_of(*shard.values));
  return norm_of(squares);
}

Result<> check_norm(Bytes const& values, float claimed) {
  double const norm = std::sqrt(squared_norm(floats_of(values)));
  if (norm > rounding * double{claimed})
    return fail(Errc::limit_exceeded,
                fmt::format("a gradient of norm {:g} of which one shard has {:g}", claimed, norm));
  return {};
}

}  // namespace grapevine
