// RunManifest: everything the peers of a run must agree on. It travels as one signed message
// (schemas/manifest.fbs in an envelope); the run id is the Merkle root of those signed bytes, so a
// newcomer that knows the id can pull the manifest from anyone. Immutable once signed.
#pragma once

#include "grapevine/crypto/hash.hpp"
#include "grapevine/crypto/identity.hpp"
#include "grapevine/tensor/model_config.hpp"
#include "grapevine/wire/mix_pattern.hpp"
#include "grapevine/wire/signed.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace grapevine {

inline constexpr std::uint32_t protocol_version = 1;
inline constexpr std::string_view reference_tokenizer = "reference";

struct InnerOptimizer {  // AdamW with warm-up and cosine
  float lr = 1e-3F;
  float lr_final = 1e-4F;
  std::uint32_t warmup_steps = 50;
  std::uint64_t schedule_steps = 2000;  // cosine from lr to lr_final over this many steps
  float beta1 = 0.9F;
  float beta2 = 0.95F;
  float eps = 1e-8F;
  float weight_decay = 0.1F;
  float clip_norm = 1.0F;
  std::uint32_t batch = 16;        // sequences an inner step
  std::uint32_t accumulation = 1;  // micro-batches a step is split into
  bool operator==(InnerOptimizer const&) const = default;
};

struct OuterOptimizer {  // Nesterov in the PyTorch convention: v = mu v + g; z -= lr (g + mu v)
  float lr = 0.7F;
  float momentum = 0.9F;
  bool nesterov = true;
  float pull = 0;  // gamma of NoLoCo, with joint pairs (mix/outer_optimizer.hpp); 0: none
  bool operator==(OuterOptimizer const&) const = default;
};

struct RunManifest {
  std::string name;
  std::uint64_t seed = 0;
  std::uint64_t created_unix_s = 0;
  std::uint32_t protocol = protocol_version;
  std::uint32_t protocol_oldest = protocol_version;  // oldest accepted
  ModelConfig model;
  Hash schema_hash;  // SHA-256 of the layout's canonical text
  std::uint64_t parameters = 0;
  std::string tokenizer = "bytes";
  std::uint32_t inner_steps = 100;  // H
  std::uint64_t rounds = 0;         // 0: until stopped
  Mixing mixing;
  std::uint32_t shards = 8;  // parts of the parameter vector, each with a reducer
  InnerOptimizer inner;
  OuterOptimizer outer;
  float deadline_s_min = 2;    // a round waits at least this long for the others …
  float deadline_s_max = 600;  // … and at most this long, whatever the measured rates say
  Hash initial_state;          // of the model at round 0
  bool operator==(RunManifest const&) const = default;
};

// Every rule a manifest must satisfy before any of it is used; Errc::manifest_invalid names the
// field, Errc::version_mismatch both versions.
[[nodiscard]] Result<> check(RunManifest const& manifest);

struct SignedManifest {
  Bytes bytes;  // the envelope, exactly as signed
  Hash run;     // the run id
  RunManifest manifest;
  PublicKey creator;
};
[[nodiscard]] SignedManifest sign_manifest(RunManifest const& manifest, Identity const& creator);
[[nodiscard]] Result<SignedManifest> verify_manifest(ByteView bytes);

// For people: HOME/manifest.json and `--manifest FILE`. The JSON carries the signed bytes in base64
// beside the readable fields; reading checks that they agree.
[[nodiscard]] std::string to_json(SignedManifest const& manifest);
[[nodiscard]] Result<SignedManifest> signed_manifest_from_json(std::string_view json);
// A partial description by a person ({"name": …, "model": {"preset": "nano"}, "inner_steps": 50}):
// unknown keys are Errc::config_invalid, absent ones keep their default; comments (//) are allowed.
[[nodiscard]] Result<RunManifest> manifest_from_json(std::string_view json);

}  // namespace grapevine
