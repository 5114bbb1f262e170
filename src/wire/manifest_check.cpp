#include "grapevine/base/limits.hpp"
#include "grapevine/wire/manifest.hpp"
#include "grapevine/wire/text.hpp"

#include <fmt/format.h>

namespace grapevine {
namespace {

tl::unexpected<Error> invalid(std::string detail) {
  return fail(Errc::manifest_invalid, std::move(detail));
}

Result<> text(std::string_view field, std::string_view value, std::size_t max) {
  if (value.size() > max) return invalid(fmt::format("{}: longer than {} bytes", field, max));
  if (!is_printable_utf8(value)) return invalid(fmt::format("{}: not printable text", field));
  return {};
}

Result<> in_range(std::string_view field, std::uint64_t value, std::uint64_t min,
                  std::uint64_t max) {
  if (value >= min && value <= max) return {};
  return invalid(fmt::format("{}: {} is not in {}..{}", field, value, min, max));
}

// Written so that a NaN fails it.
Result<> between(std::string_view field, float value, float low, float high) {
  if (value >= low && value <= high) return {};
  return invalid(fmt::format("{}: {} is not in {}..{}", field, value, low, high));
}

Result<> check_protocol(RunManifest const& manifest) {
  TRY(in_range("protocol_oldest", manifest.protocol_oldest, 1, manifest.protocol));
  if (protocol_version < manifest.protocol_oldest)
    return fail(Errc::version_mismatch,
                fmt::format("the run needs protocol version {}, this program speaks {}",
                            manifest.protocol_oldest, protocol_version));
  return {};
}

Result<> check_model(RunManifest const& manifest) {
  if (auto const model = check(manifest.model); !model.has_value())
    return invalid("model." + model.error().detail());
  // The reference trainer of simulations has tensors of its own: each peer compares the schema hash
  // with the trainer it made.
  if (manifest.tokenizer == reference_tokenizer) return {};
  TRY_ASSIGN(auto const layout, model_layout(manifest.model));
  if (manifest.parameters != layout.elements())
    return invalid(fmt::format("parameters: {}, but the model has {}", manifest.parameters,
                               layout.elements()));
  if (manifest.schema_hash != sha256(as_bytes(layout.canonical_text())))
    return invalid("schema_hash: not that of the model");
  TRY(text("tokenizer", manifest.tokenizer, limits::tokenizer_name_max));
  if (manifest.tokenizer.empty()) return invalid("tokenizer: empty");
  if (manifest.tokenizer == "bytes" && manifest.model.vocab_size < 256)
    return invalid("model.vocab_size: below the 256 tokens of the tokenizer 'bytes'");
  return {};
}

Result<> check_shards(RunManifest const& manifest) {
  TRY(in_range("shards", manifest.shards, 1, limits::shards_max));
  if (manifest.shards > manifest.parameters) return invalid("shards: more than parameters");
  std::uint64_t const largest = (manifest.parameters - 1) / manifest.shards + 1;
  if (largest > limits::blob_bytes_max / sizeof(float))
    return invalid(fmt::format("shards: one of {} parameters is too large to send", largest));
  return {};
}

Result<> check_inner(RunManifest const& manifest) {
  auto const& inner = manifest.inner;
  // As wide as the engines take them.
  TRY(between("inner.lr", inner.lr, 0, 100));
  TRY(between("inner.lr_final", inner.lr_final, 0, 100));
  TRY(in_range("inner.schedule_steps", inner.schedule_steps, 1, limits::schedule_steps_max));
  TRY(between("inner.beta1", inner.beta1, 0, 0.9999F));
  TRY(between("inner.beta2", inner.beta2, 0, 0.99999F));
  TRY(between("inner.eps", inner.eps, 1e-30F, 1));
  TRY(between("inner.weight_decay", inner.weight_decay, 0, 10));
  TRY(between("inner.clip_norm", inner.clip_norm, 0, 1e6F));
  TRY(in_range("inner.batch", inner.batch, 1, limits::batch_sequences_max));
  TRY(in_range("inner.accumulation", inner.accumulation, 1, inner.batch));
  if (inner.batch % inner.accumulation != 0)
    return invalid(fmt::format("inner.accumulation: {} micro-batches of a batch of {}",
                               inner.accumulation, inner.batch));
  TRY(in_range("inner_steps", manifest.inner_steps, 1, limits::inner_steps_max));
  std::uint64_t const tokens =
      std::uint64_t{manifest.inner_steps} * inner.batch * manifest.model.context;
  if (tokens > limits::round_tokens_max)
    return invalid(fmt::format("inner_steps: {} tokens a round, at most {}", tokens,
                               limits::round_tokens_max));
  return {};
}

// Most parameters are not near zero: what top-k leaves out of them is no detail.
Result<> check_codecs(Mixing const& mixing) {
  auto const last = static_cast<std::uint64_t>(codecs.back());
  TRY(in_range("mix1_codec", static_cast<std::uint64_t>(mixing.mix1_codec), 0, last));
  TRY(in_range("mix2_codec", static_cast<std::uint64_t>(mixing.mix2_codec), 0, last));
  if (mixing.mix1_codec == Codec::topk)
    return invalid("mix1_codec: topk is for outer gradients, not for parameters");
  if (mixing.mix1_codec != Codec::fp32 && mixing.mix1 == MixPattern::none)
    return invalid("mix1_codec: there is no mix1 to encode");
  if (mixing.mix2_codec != Codec::fp32 && mixing.mix2 == MixPattern::none)
    return invalid("mix2_codec: there is no mix2 to encode");
  TRY(between("error_decay", mixing.error_decay, 0, 1));
  return {};
}

Result<> check_mixing(RunManifest const& manifest) {
  auto const last = static_cast<std::uint64_t>(MixPattern::global);
  TRY(in_range("mix1", static_cast<std::uint64_t>(manifest.mixing.mix1), 0, last));
  TRY(in_range("mix2", static_cast<std::uint64_t>(manifest.mixing.mix2), 0, last));
  bool const pairs =
      manifest.mixing.mix1 == MixPattern::pair && manifest.mixing.mix2 == MixPattern::pair;
  if (manifest.mixing.joint && !pairs) return invalid("joint: only with mix1 pair and mix2 pair");
  if (manifest.mixing.mix1_momentum && manifest.mixing.mix1 == MixPattern::none)
    return invalid("mix1_momentum: there is no mix1 to take it along");
  if (manifest.outer.pull != 0 && manifest.outer.lr == 0)
    return invalid("outer.pull: only with an outer.lr above 0");
  if (manifest.outer.pull != 0 && !manifest.mixing.joint)
    return invalid("outer.pull: only with joint, where both come from the same partner");
  return check_codecs(manifest.mixing);
}

Result<> check_round(RunManifest const& manifest) {
  TRY(in_range("rounds", manifest.rounds, 0, limits::rounds_max));
  TRY(check_mixing(manifest));
  TRY(between("outer.lr", manifest.outer.lr, 0, 100));
  TRY(between("outer.momentum", manifest.outer.momentum, 0, 0.9999F));
  TRY(between("outer.pull", manifest.outer.pull, 0, 2 + manifest.outer.momentum));
  TRY(between("deadline_s_min", manifest.deadline_s_min, 0, limits::round_deadline_s_max));
  TRY(between("deadline_s_max", manifest.deadline_s_max, manifest.deadline_s_min,
              limits::round_deadline_s_max));
  return {};
}

}  // namespace

Result<> check(RunManifest const& manifest) {
  TRY(check_protocol(manifest));
  TRY(text("name", manifest.name, limits::run_name_max));
  TRY(check_model(manifest));
  TRY(check_shards(manifest));
  TRY(check_inner(manifest));
  return check_round(manifest);
}

}  // namespace grapevine
