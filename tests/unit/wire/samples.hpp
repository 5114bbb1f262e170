// One well-formed value of each message: what the golden vectors and the corpora encode.
#pragma once

#include "grapevine/wire/manifest.hpp"
#include "grapevine/wire/messages.hpp"
#include "keys.hpp"

namespace grapevine::samples {

inline Hash hash(std::string_view of) { return sha256(as_bytes(of)); }
inline Hash const run = hash("run");

inline std::vector<BlobRef> refs(std::string_view of, std::size_t count) {
  std::vector<BlobRef> refs;
  for (std::size_t i = 0; i < count; ++i)
    refs.push_back({hash(std::string(of) + std::to_string(i)), 1000 + i});
  return refs;
}

inline Beacon beacon() {
  Beacon beacon;
  beacon.run = run;
  beacon.sequence = 7;
  beacon.name = "ada";
  beacon.agent = "grapevine/0.1.0";
  beacon.protocol = 1;
  beacon.state = PeerState::training;
  beacon.round = 3;
  beacon.state_hash = hash("state");
  beacon.inner_step = 12;
  beacon.inner_steps = 100;
  beacon.steps_per_s = 2.5F;
  beacon.bytes_per_s = 1e6F;
  beacon.tokens_total = 123456;
  beacon.loss = 3.25F;
  beacon.addresses = {Multiaddr::parse("/ip4/127.0.0.1/tcp/4001").value(),
                      Multiaddr::parse("/dns4/example.com/tcp/443").value()};
  return beacon;
}

inline Contribution contribution() {
  Contribution contribution;
  contribution.run = run;
  contribution.round = 3;
  contribution.base = hash("state");
  contribution.tokens = 204800;
  contribution.steps = 100;
  contribution.loss = 3.25F;
  contribution.norm = 0.5F;
  contribution.shards = refs("shard", 2);
  contribution.probe = BlobRef{hash("probe"), 1002};
  return contribution;
}

inline ShardResult shard_result() {
  ShardResult result;
  result.run = run;
  result.round = 3;
  result.base = hash("state");
  result.shard = 1;
  result.inputs = {{peer_a, hash("a"), 204800}, {peer_b, hash("b"), 102400}};
  result.result = {hash("mean"), 1001};
  return result;
}

inline ChunkRequest chunk_request() { return {{hash("blob"), 300'000'000}, 5, 64, true}; }
inline ChunkResponse chunk_response() {
  return {ChunkStatus::ok, 0, 2, 400'000, {hash("0"), hash("1")}};
}

inline StateDescriptor state() { return {run, 3, refs("parameters", 2), refs("momentum", 2)}; }

inline MixOffer mix_offer() {
  return {run, 3, MixLane::joint, peer_b, 204800, refs("shard", 4), BlobRef{hash("probe"), 1002}};
}

// Two rows over three tokens.
inline ProbeAnswer probe_answer() {
  return {3, {0, 1, 2, 0, 1, 2}, {-0.5F, -1.5F, -1.775F, -1.0F, -1.0F, -1.331F}, {0, 0}};
}

inline MixAnswer mix_answer() { return {run, 3, MixLane::joint, peer_a, MixVerdict::prepared}; }

inline LedgerEntry ledger_entry() {
  LedgerEntry entry;
  entry.run = run;
  entry.round = 3;
  entry.mix = MixPattern::global;
  entry.before = hash("state");
  entry.after = hash("next state");
  entry.inputs = {{peer_a, hash("contribution"), 204800, 0.75, 0.5F, 2}};
  entry.missing = {{peer_b, "no announcement before the deadline"}};
  entry.shards_missed = 1;
  entry.previous = hash("previous");
  entry.js = 0.25F;
  return entry;
}

inline RunManifest manifest() {
  RunManifest manifest;
  manifest.name = "fortunes";
  manifest.seed = 42;
  manifest.created_unix_s = 1'700'000'000;
  manifest.model = {.preset = "custom",
                    .vocab_size = 256,
                    .hidden_size = 32,
                    .intermediate_size = 64,
                    .layers = 1,
                    .heads = 2,
                    .kv_heads = 1,
                    .context = 16};
  auto const layout = model_layout(manifest.model).value();
  manifest.schema_hash = sha256(as_bytes(layout.canonical_text()));
  manifest.parameters = layout.elements();
  manifest.rounds = 8;
  manifest.shards = 4;
  manifest.initial_state = hash("state 0");
  return manifest;
}

}  // namespace grapevine::samples
