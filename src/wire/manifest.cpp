#include "grapevine/wire/manifest.hpp"

#include "flat_detail.hpp"
#include "grapevine/wire/blob_ref.hpp"
#include "grapevine_schemas/manifest_generated.h"
#include "verified_detail.hpp"

namespace grapevine {
namespace {

constexpr MessageKind kind = {"manifest", limits::manifest_bytes_max};

flatbuffers::Offset<schema::Model> encode_model(flat::Builder& builder, ModelConfig const& model) {
  auto const preset = builder.CreateString(model.preset);
  schema::ModelBuilder table(builder);
  table.add_preset(preset);
  table.add_vocab_size(model.vocab_size);
  table.add_hidden_size(model.hidden_size);
  table.add_intermediate_size(model.intermediate_size);
  table.add_layers(model.layers);
  table.add_heads(model.heads);
  table.add_kv_heads(model.kv_heads);
  table.add_context(model.context);
  table.add_rope_theta(model.rope_theta);
  table.add_rms_eps(model.rms_eps);
  table.add_tied_head(model.tied_head);
  table.add_qkv_bias(model.qkv_bias);
  return table.Finish();
}

flatbuffers::Offset<schema::InnerOptimizer> encode_inner(flat::Builder& builder,
                                                         InnerOptimizer const& inner) {
  schema::InnerOptimizerBuilder table(builder);
  table.add_lr(inner.lr);
  table.add_lr_final(inner.lr_final);
  table.add_warmup_steps(inner.warmup_steps);
  table.add_schedule_steps(inner.schedule_steps);
  table.add_beta1(inner.beta1);
  table.add_beta2(inner.beta2);
  table.add_eps(inner.eps);
  table.add_weight_decay(inner.weight_decay);
  table.add_clip_norm(inner.clip_norm);
  table.add_batch(inner.batch);
  table.add_accumulation(inner.accumulation);
  return table.Finish();
}

ModelConfig decode_model(schema::Model const& table) {
  ModelConfig model;
  model.preset = flat::text(*table.preset());
  model.vocab_size = table.vocab_size();
  model.hidden_size = table.hidden_size();
  model.intermediate_size = table.intermediate_size();
  model.layers = table.layers();
  model.heads = table.heads();
  model.kv_heads = table.kv_heads();
  model.context = table.context();
  model.rope_theta = table.rope_theta();
  model.rms_eps = table.rms_eps();
  model.tied_head = table.tied_head();
  model.qkv_bias = table.qkv_bias();
  return model;
}

InnerOptimizer decode_inner(schema::InnerOptimizer const& table) {
  InnerOptimizer inner;
  inner.lr = table.lr();
  inner.lr_final = table.lr_final();
  inner.warmup_steps = table.warmup_steps();
  inner.schedule_steps = table.schedule_steps();
  inner.beta1 = table.beta1();
  inner.beta2 = table.beta2();
  inner.eps = table.eps();
  inner.weight_decay = table.weight_decay();
  inner.clip_norm = table.clip_norm();
  inner.batch = table.batch();
  inner.accumulation = table.accumulation();
  return inner;
}

Result<RunManifest> decode_payload(ByteView payload) {
  TRY_ASSIGN(auto const* const table,
             flat::verified_root<schema::Manifest>(payload, schema::ManifestIdentifier()));
  RunManifest manifest;
  manifest.name = flat::text(*table->name());
  manifest.seed = table->seed();
  manifest.created_unix_s = table->created_unix_s();
  manifest.protocol = table->protocol();
  manifest.protocol_oldest = table->protocol_oldest();
  manifest.model = decode_model(*table->model());
  manifest.schema_hash = flat::hash(*table->schema_hash());
  manifest.parameters = table->parameters();
  manifest.tokenizer = flat::text(*table->tokenizer());
  manifest.inner_steps = table->inner_steps();
  manifest.rounds = table->rounds();
  manifest.mixing.mix1 = static_cast<MixPattern>(table->mix1());
  manifest.mixing.mix2 = static_cast<MixPattern>(table->mix2());
  manifest.mixing.joint = table->joint();
  manifest.mixing.mix1_momentum = table->mix1_momentum();
  manifest.mixing.mix1_codec = static_cast<Codec>(table->mix1_codec());
  manifest.mixing.mix2_codec = static_cast<Codec>(table->mix2_codec());
  manifest.mixing.error_decay = table->error_decay();
  manifest.shards = table->shards();
  manifest.inner = decode_inner(*table->inner());
  manifest.outer = {table->outer()->lr(), table->outer()->momentum(), table->outer()->nesterov(),
                    table->outer()->pull()};
  manifest.deadline_s_min = table->deadline_s_min();
  manifest.deadline_s_max = table->deadline_s_max();
  manifest.initial_state = flat::hash(*table->initial_state());
  TRY(check(manifest));
  return manifest;
}

}  // namespace

Bytes codec::encode_payload(RunManifest const& manifest) {
  flat::Builder builder;
  auto const name = builder.CreateString(manifest.name);
  auto const tokenizer = builder.CreateString(manifest.tokenizer);
  auto const model = encode_model(builder, manifest.model);
  auto const inner = encode_inner(builder, manifest.inner);
  auto const outer =
      schema::CreateOuterOptimizer(builder, manifest.outer.lr, manifest.outer.momentum,
                                   manifest.outer.nesterov, manifest.outer.pull);
  auto const schema_hash = flat::from(manifest.schema_hash);
  auto const initial_state = flat::from(manifest.initial_state);
  schema::ManifestBuilder table(builder);
  table.add_name(name);
  table.add_seed(manifest.seed);
  table.add_created_unix_s(manifest.created_unix_s);
  table.add_protocol(manifest.protocol);
  table.add_protocol_oldest(manifest.protocol_oldest);
  table.add_model(model);
  table.add_schema_hash(&schema_hash);
  table.add_parameters(manifest.parameters);
  table.add_tokenizer(tokenizer);
  table.add_inner_steps(manifest.inner_steps);
  table.add_rounds(manifest.rounds);
  table.add_mix1(static_cast<schema::MixPattern>(manifest.mixing.mix1));
  table.add_mix2(static_cast<schema::MixPattern>(manifest.mixing.mix2));
  table.add_joint(manifest.mixing.joint);
  table.add_mix1_momentum(manifest.mixing.mix1_momentum);
  table.add_mix1_codec(static_cast<schema::Codec>(manifest.mixing.mix1_codec));
  table.add_mix2_codec(static_cast<schema::Codec>(manifest.mixing.mix2_codec));
  table.add_error_decay(manifest.mixing.error_decay);
  table.add_shards(manifest.shards);
  table.add_inner(inner);
  table.add_outer(outer);
  table.add_deadline_s_min(manifest.deadline_s_min);
  table.add_deadline_s_max(manifest.deadline_s_max);
  table.add_initial_state(&initial_state);
  return flat::finish(builder, table.Finish(), schema::ManifestIdentifier());
}

SignedManifest sign_manifest(RunManifest const& manifest, Identity const& creator) {
  auto const rules = [](RunManifest const& m) { return check(m); };
  Bytes bytes = sign_message(kind, manifest, creator, rules);
  Hash const run = blob_ref(bytes).root;
  return {std::move(bytes), run, manifest, creator.public_key()};
}

Result<SignedManifest> verify_manifest(ByteView bytes) {
  TRY_ASSIGN(auto const opened, open_envelope(kind.domain, bytes, kind.bytes_max));
  TRY_ASSIGN(auto manifest, decode_payload(opened.payload));
  return SignedManifest{Bytes(bytes.begin(), bytes.end()), blob_ref(bytes).root,
                        std::move(manifest), opened.key};
}

}  // namespace grapevine
