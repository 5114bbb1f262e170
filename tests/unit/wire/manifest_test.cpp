#include "grapevine/wire/manifest.hpp"

#include "grapevine/base/limits.hpp"
#include "grapevine/wire/blob_ref.hpp"
#include "mutations.hpp"
#include "samples.hpp"
#include "wire/codec_detail.hpp"

#include <doctest/doctest.h>

#include <limits>

using namespace grapevine;

namespace {

// "" when the change is good, else the complaint.
template <class Change>
std::string complaint(Change change) {
  auto manifest = samples::manifest();
  change(manifest);
  auto const checked = check(manifest);
  auto const signed_bytes = sign_envelope("manifest", codec::encode_payload(manifest), key_a);
  CHECK(verify_manifest(signed_bytes).has_value() == checked.has_value());
  return checked.has_value() ? "" : checked.error().detail();
}

std::string json_complaint(std::string_view json) {
  auto const manifest = manifest_from_json(json);
  if (manifest.has_value()) return "";
  CHECK(manifest.error().errc() == Errc::config_invalid);
  return manifest.error().detail();
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  auto const at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("a signed manifest verifies, and is named by its bytes") {
  auto const made = sign_manifest(samples::manifest(), key_a);
  auto const read = verify_manifest(made.bytes).value();
  CHECK(read.manifest == samples::manifest());
  CHECK(read.bytes == made.bytes);
  CHECK(read.run == made.run);
  CHECK(read.run == blob_ref(made.bytes).root);
  CHECK(read.creator == key_a.public_key());
  CHECK(sign_manifest(samples::manifest(), key_b).run != made.run);
}

TEST_CASE("a manifest keeps its rules") {
  using M = RunManifest;
  float const nan = std::numeric_limits<float>::quiet_NaN();
  float const infinity = std::numeric_limits<float>::infinity();
  CHECK(complaint([](M&) {}).empty());
  CHECK(complaint([](M& m) { m.name = ""; }).empty());
  CHECK(complaint([](M& m) { m.name.assign(limits::run_name_max, 'x'); }).empty());
  CHECK(complaint([](M& m) { m.name.assign(limits::run_name_max + 1, 'x'); }) ==
        "name: longer than 128 bytes");
  CHECK(complaint([](M& m) { m.name = "\x07"; }) == "name: not printable text");
  CHECK(complaint([](M& m) { m.tokenizer = ""; }) == "tokenizer: empty");
  CHECK(complaint([](M& m) { m.parameters += 1; }).starts_with("parameters: "));
  CHECK(complaint([](M& m) { m.schema_hash = {}; }) == "schema_hash: not that of the model");
  CHECK(complaint([](M& m) { m.model.heads = 3; }).starts_with("model.heads: 3 do not"));
  CHECK(complaint([](M& m) { m.shards = 0; }) == "shards: 0 is not in 1..16");
  CHECK(complaint([](M& m) { m.shards = limits::shards_max; }).empty());
  CHECK(complaint([](M& m) { m.shards = limits::shards_max + 1; }) == "shards: 17 is not in 1..16");
  CHECK(complaint([](M& m) { m.mixing.mix1 = static_cast<MixPattern>(3); }) ==
        "mix1: 3 is not in 0..2");
  CHECK(complaint([](M& m) { m.mixing.mix2 = static_cast<MixPattern>(3); }) ==
        "mix2: 3 is not in 0..2");
  CHECK(complaint([](M& m) { m.mixing.joint = true; }) ==
        "joint: only with mix1 pair and mix2 pair");
  CHECK(complaint([](M& m) { m.outer = {0, 0.9F, true, 0.7F}; }) ==
        "outer.pull: only with an outer.lr above 0");
  CHECK(complaint([](M& m) { m.outer.pull = 0.7F; }) ==
        "outer.pull: only with joint, where both come from the same partner");
  CHECK(complaint([](M& m) { m.mixing.mix1_momentum = true; }) ==
        "mix1_momentum: there is no mix1 to take it along");
  CHECK(complaint([](M& m) { m.inner_steps = 0; }) == "inner_steps: 0 is not in 1..100000");
  CHECK(complaint([](M& m) { m.inner_steps = limits::inner_steps_max; }).empty());
  CHECK_FALSE(complaint([](M& m) { m.inner_steps = limits::inner_steps_max + 1; }).empty());
  CHECK(complaint([](M& m) { m.rounds = limits::rounds_max; }).empty());
  CHECK_FALSE(complaint([](M& m) { m.rounds = limits::rounds_max + 1; }).empty());
  CHECK(complaint([](M& m) { m.inner.batch = 0; }).starts_with("inner.batch: "));
  CHECK(complaint([](M& m) { m.inner.accumulation = 3; }) ==
        "inner.accumulation: 3 micro-batches of a batch of 16");
  CHECK_FALSE(complaint([](M& m) { m.inner.accumulation = 0; }).empty());
  CHECK_FALSE(complaint([](M& m) { m.inner.schedule_steps = 0; }).empty());
  CHECK(complaint([](M& m) { m.deadline_s_max = 1; }) == "deadline_s_max: 1 is not in 2..86400");
  CHECK_FALSE(complaint([](M& m) { m.deadline_s_max = 1e6F; }).empty());
  for (float const bad : {nan, infinity, -infinity, -1.0F}) {
    CAPTURE(bad);
    CHECK_FALSE(complaint([&](M& m) { m.inner.lr = bad; }).empty());
    CHECK_FALSE(complaint([&](M& m) { m.inner.lr_final = bad; }).empty());
    CHECK_FALSE(complaint([&](M& m) { m.inner.beta1 = bad; }).empty());
    CHECK_FALSE(complaint([&](M& m) { m.inner.beta2 = bad; }).empty());
    CHECK_FALSE(complaint([&](M& m) { m.inner.eps = bad; }).empty());
    CHECK_FALSE(complaint([&](M& m) { m.inner.weight_decay = bad; }).empty());
    CHECK_FALSE(complaint([&](M& m) { m.inner.clip_norm = bad; }).empty());
    CHECK_FALSE(complaint([&](M& m) { m.outer.lr = bad; }).empty());
    CHECK_FALSE(complaint([&](M& m) { m.outer.momentum = bad; }).empty());
    CHECK_FALSE(complaint([&](M& m) { m.deadline_s_min = bad; }).empty());
    CHECK_FALSE(complaint([&](M& m) { m.deadline_s_max = bad; }).empty());
  }
  CHECK_FALSE(complaint([](M& m) { m.outer.momentum = 1; }).empty());
}

TEST_CASE("a run for newer programs is refused with both versions") {
  auto manifest = samples::manifest();
  manifest.protocol = manifest.protocol_oldest = protocol_version + 1;
  CHECK(check(manifest).error().errc() == Errc::version_mismatch);
  CHECK(check(manifest).error().detail() ==
        "the run needs protocol version 2, this program speaks 1");
  manifest.protocol_oldest = protocol_version;
  CHECK(check(manifest).has_value());
  manifest.protocol_oldest = 0;
  CHECK(check(manifest).error().errc() == Errc::manifest_invalid);
}

TEST_CASE("hostile manifests are refused or are other good ones") {
  auto const payload = codec::encode_payload(samples::manifest());
  for_each_mutation(payload, [](ByteView changed) {
    auto const read = verify_manifest(sign_envelope("manifest", changed, key_a));
    if (read.has_value()) CHECK(check(read->manifest).has_value());
  });
  CHECK(verify_manifest(Bytes(limits::manifest_bytes_max + 1)).error().errc() == Errc::oversize);
  CHECK_FALSE(verify_manifest({}).has_value());
  CHECK(verify_manifest(sign_envelope("beacon", payload, key_a)).error().errc() ==
        Errc::bad_signature);
}

TEST_CASE("a manifest file reads back, and an edited one does not") {
  auto const made = sign_manifest(samples::manifest(), key_a);
  auto const json = to_json(made);
  auto const read = signed_manifest_from_json(json).value();
  CHECK(read.manifest == made.manifest);
  CHECK(read.run == made.run);
  CHECK(json.find("\"lr\": 0.7,") != std::string::npos);
  CHECK(signed_manifest_from_json(replaced(json, "\"inner_steps\": 100", "\"inner_steps\": 101"))
            .error()
            .detail()
            .starts_with("/inner_steps: differs from what was signed"));
  CHECK_FALSE(signed_manifest_from_json(replaced(json, "\"seed\": 42,", "")).has_value());
  CHECK_FALSE(signed_manifest_from_json(replaced(json, "{", "{\"note\": 1,")).has_value());
  CHECK_FALSE(
      signed_manifest_from_json(replaced(json, "\"signed\": \"", "\"signed\": \"A")).has_value());
  for (auto const* bad : {"", "{}", "[]", "1", "{\"signed\": 1}", "{\"signed\": \"\"}"})
    CHECK_FALSE(signed_manifest_from_json(bad).has_value());
  CHECK_FALSE(
      signed_manifest_from_json(std::string(limits::manifest_json_max + 1, ' ')).has_value());
}

TEST_CASE("a person describes only what differs from the defaults") {
  auto const manifest = manifest_from_json(
      R"({"name": "tales", "model": {"preset": "nano"}, "inner_steps": 50, "mix1": "global", "mix2": "pair",
          "inner": {"lr": 0.002}, "outer": {"nesterov": false}})");
  REQUIRE(manifest.has_value());
  CHECK(manifest->name == "tales");
  CHECK(manifest->model == model_preset("nano").value());
  CHECK(manifest->inner_steps == 50);
  CHECK(manifest->mixing.mix1 == MixPattern::global);
  CHECK(manifest->mixing.mix2 == MixPattern::pair);
  CHECK(manifest->inner.lr == 0.002F);
  CHECK(manifest->inner.beta2 == InnerOptimizer{}.beta2);
  CHECK_FALSE(manifest->outer.nesterov);
  CHECK(manifest->parameters == model_layout(manifest->model).value().elements());
  CHECK(check(*manifest).has_value());
  CHECK(manifest_from_json("// of one step\n{\"inner_steps\": 1}")->inner_steps == 1);
  auto const changed = manifest_from_json(R"({"model": {"preset": "nano", "layers": 2}})");
  CHECK(changed.value().model.preset == "custom");
  CHECK(changed.value().model.layers == 2);
  CHECK(manifest_from_json("{}").has_value());
}

TEST_CASE("what a person gets wrong is said in one line that names the key") {
  CHECK(json_complaint(R"({"model": {"preset": "nanoo"}})") ==
        "model.preset: no preset 'nanoo'; there are nano, micro, small");
  CHECK(json_complaint(R"({"model": {"preset": 3}})") ==
        "model.preset: no preset '3'; there are nano, micro, small");
  CHECK(json_complaint(R"({"inner_step": 3})")
            .starts_with("inner_step: no such key; there are name, seed, "));
  CHECK(json_complaint(R"({"outer": {"lrr": 3}})") ==
        "outer.lrr: no such key; there are lr, momentum, nesterov, pull");
  CHECK(json_complaint(R"({"model": 3})") == "model: not a JSON object");
  CHECK(json_complaint(R"({"seed": -1})") == "seed: not a whole number in 0..18446744073709551615");
  CHECK(json_complaint(R"({"shards": 1e3})") == "shards: not a whole number in 0..4294967295");
  CHECK(json_complaint(R"({"shards": 4294967296})") ==
        "shards: not a whole number in 0..4294967295");
  CHECK(json_complaint(R"({"name": 1})") == "name: not text");
  CHECK(json_complaint(R"({"mix2": "all"})") == "mix2: not one of none, pair, global");
  CHECK(json_complaint(R"({"inner": {"lr": "x"}})") == "inner.lr: not a number");
  CHECK(json_complaint(R"({"outer": {"nesterov": 1}})") == "outer.nesterov: not true or false");
  CHECK(json_complaint(R"({"shards": 99})") == "shards: 99 is not in 1..16");
  CHECK(json_complaint(R"({"inner": {"lr": 1e300}})").starts_with("inner.lr: inf is not in"));
  CHECK(json_complaint("{") == "manifest file: not JSON");
  CHECK(json_complaint("[]") == "manifest file: not a JSON object");
  CHECK(json_complaint(std::string(limits::manifest_json_max + 1, ' '))
            .starts_with("manifest file of "));
}
