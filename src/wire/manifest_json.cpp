#include "grapevine/base/limits.hpp"
#include "grapevine/base/log.hpp"
#include "grapevine/wire/manifest.hpp"
#include "grapevine/wire/multibase.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <limits>
#include <optional>

namespace grapevine {
namespace {

using Json = nlohmann::ordered_json;

// The one list of what a person may set, for the reader and the writer.
template <class Visitor, class Model>
void visit_model(Visitor& visit, Model& model) {
  visit("vocab_size", model.vocab_size);
  visit("hidden_size", model.hidden_size);
  visit("intermediate_size", model.intermediate_size);
  visit("layers", model.layers);
  visit("heads", model.heads);
  visit("kv_heads", model.kv_heads);
  visit("context", model.context);
  visit("rope_theta", model.rope_theta);
  visit("rms_eps", model.rms_eps);
  visit("tied_head", model.tied_head);
  visit("qkv_bias", model.qkv_bias);
}

template <class Visitor, class Inner>
void visit_inner(Visitor& visit, Inner& inner) {
  visit("lr", inner.lr);
  visit("lr_final", inner.lr_final);
  visit("warmup_steps", inner.warmup_steps);
  visit("schedule_steps", inner.schedule_steps);
  visit("beta1", inner.beta1);
  visit("beta2", inner.beta2);
  visit("eps", inner.eps);
  visit("weight_decay", inner.weight_decay);
  visit("clip_norm", inner.clip_norm);
  visit("batch", inner.batch);
  visit("accumulation", inner.accumulation);
}

template <class Visitor, class Outer>
void visit_outer(Visitor& visit, Outer& outer) {
  visit("lr", outer.lr);
  visit("momentum", outer.momentum);
  visit("nesterov", outer.nesterov);
  visit("pull", outer.pull);
}

template <class Visitor, class Manifest>
void visit_manifest(Visitor& visit, Manifest& manifest) {
  visit("name", manifest.name);
  visit("seed", manifest.seed);
  visit("protocol_oldest", manifest.protocol_oldest);
  visit("tokenizer", manifest.tokenizer);
  visit("inner_steps", manifest.inner_steps);
  visit("rounds", manifest.rounds);
  visit("mix1", manifest.mixing.mix1);
  visit("mix2", manifest.mixing.mix2);
  visit("joint", manifest.mixing.joint);
  visit("mix1_momentum", manifest.mixing.mix1_momentum);
  visit("mix1_codec", manifest.mixing.mix1_codec);
  visit("mix2_codec", manifest.mixing.mix2_codec);
  visit("error_decay", manifest.mixing.error_decay);
  visit("shards", manifest.shards);
  visit("deadline_s_min", manifest.deadline_s_min);
  visit("deadline_s_max", manifest.deadline_s_max);
}

class Writer {
 public:
  explicit Writer(Json& json) : json_(json) {}

  template <class T>
  void operator()(char const* key, T const& value) {
    json_[key] = value;
  }
  void operator()(char const* key, MixPattern value) { json_[key] = to_string(value); }
  void operator()(char const* key, Codec value) { json_[key] = codec_name(value); }
  void operator()(char const* key, float value) {
    // The shortest decimal that reads back as the same float: 0.7, not 0.699999988079071.
    json_[key] = std::stod(fmt::format("{}", value));
  }

 private:
  Json& json_;
};

// Fills in the values whose keys are there; keeps the first error. finish() refuses keys that
// nothing asked for.
class Reader {
 public:
  Reader(Json const& json, std::string path) : json_(json), path_(std::move(path)) {
    if (!json.is_object()) error_ = complaint("", "not a JSON object");
  }

  template <class T>
  void operator()(char const* key, T& value) {
    if (auto const* const found = find(key))
      if (!read(*found, value)) complain(key, expected(value));
  }
  // The value at `key`, if there is one.
  Json const* find(char const* key) {
    keys_.emplace_back(key);
    if (error_.has_value()) return nullptr;
    auto const at = json_.find(key);
    return at == json_.end() ? nullptr : &*at;
  }
  [[nodiscard]] Result<> finish() {
    if (!error_.has_value())
      for (auto const& [key, value] : json_.items())
        if (std::ranges::find(keys_, key) == keys_.end())
          complain(printable(key, 64).c_str(),
                   fmt::format("no such key; there are {}", fmt::join(keys_, ", ")));
    if (error_.has_value()) return tl::unexpected(*error_);
    return {};
  }

 private:
  static bool read(Json const& json, std::string& value) {
    if (json.is_string()) value = json.get<std::string>();
    return json.is_string();
  }
  static bool read(Json const& json, bool& value) {
    if (json.is_boolean()) value = json.get<bool>();
    return json.is_boolean();
  }
  static bool read(Json const& json, float& value) {
    if (json.is_number()) value = json.get<float>();
    return json.is_number();
  }
  static bool read(Json const& json, std::unsigned_integral auto& value) {
    using Int = std::remove_reference_t<decltype(value)>;
    if (!json.is_number_unsigned()) return false;
    auto const number = json.get<std::uint64_t>();
    if (number > std::numeric_limits<Int>::max()) return false;
    value = static_cast<Int>(number);
    return true;
  }
  static bool read(Json const& json, MixPattern& value) {
    if (!json.is_string()) return false;
    for (auto const pattern : {MixPattern::none, MixPattern::pair, MixPattern::global}) {
      if (json.get<std::string>() != to_string(pattern)) continue;
      value = pattern;
      return true;
    }
    return false;
  }
  static bool read(Json const& json, Codec& value) {
    if (!json.is_string()) return false;
    auto const* const named = std::ranges::find(codecs, json.get<std::string>(), codec_name);
    if (named != codecs.end()) value = *named;
    return named != codecs.end();
  }
  static char const* expected(std::string const&) { return "not text"; }
  static char const* expected(bool const&) { return "not true or false"; }
  static char const* expected(float const&) { return "not a number"; }
  static char const* expected(MixPattern const&) { return "not one of none, pair, global"; }
  static char const* expected(Codec const&) { return "not one of fp32, bf16, int8, int4, topk"; }
  static std::string expected(std::unsigned_integral auto const& value) {
    using Int = std::remove_cvref_t<decltype(value)>;
    return fmt::format("not a whole number in 0..{}", std::numeric_limits<Int>::max());
  }

  [[nodiscard]] Error complaint(std::string_view key, std::string_view text) const {
    // The object itself, when there is no key: "model", or the whole file.
    if (key.empty()) key = path_.empty() ? "manifest file" : "";
    auto name = path_ + std::string(key);
    if (name.ends_with('.')) name.pop_back();
    return Error(Errc::config_invalid, fmt::format("{}: {}", name, text));
  }
  void complain(std::string_view key, std::string_view text) {
    if (!error_.has_value()) error_ = complaint(key, text);
  }

  Json const& json_;
  std::string path_;  // "" or "model."
  std::vector<std::string> keys_;
  std::optional<Error> error_;
};

Result<Json> parse(std::string_view text) {
  if (text.size() > limits::manifest_json_max)
    return fail(Errc::config_invalid, "manifest file of " + std::to_string(text.size()) +
                                          " bytes, at most " +
                                          std::to_string(limits::manifest_json_max));
  constexpr bool throws = false, comments = true;  // a description may explain itself
  auto json = Json::parse(text, nullptr, throws, comments);
  if (json.is_discarded()) return fail(Errc::config_invalid, "manifest file: not JSON");
  return json;
}

Result<ModelConfig> read_model(Json const& json) {
  Reader reader(json, "model.");
  std::string preset;
  ModelConfig model;
  if (auto const* const found = reader.find("preset")) {
    auto const name = found->is_string() ? found->get<std::string>() : found->dump();
    auto const known = model_preset(name);
    if (!known.has_value())
      return fail(Errc::config_invalid,
                  fmt::format("model.preset: no preset '{}'; there are {}", printable(name, 64),
                              fmt::join(model_preset_names(), ", ")));
    model = *known;
  }
  auto const base = model;
  visit_model(reader, model);
  TRY(reader.finish());
  if (model != base) model.preset = "custom";
  return model;
}

}  // namespace

std::string to_json(SignedManifest const& manifest) {
  auto const& m = manifest.manifest;
  Json json;
  json["run"] = manifest.run.hex();
  json["creator"] = PeerId::from_ed25519(manifest.creator.raw()).text();
  Writer top(json);
  visit_manifest(top, m);
  json["model"]["preset"] = m.model.preset;
  Writer model(json["model"]);
  visit_model(model, m.model);
  Writer inner(json["inner"]);
  visit_inner(inner, m.inner);
  Writer outer(json["outer"]);
  visit_outer(outer, m.outer);
  json["protocol"] = m.protocol;
  json["created_unix_s"] = m.created_unix_s;
  json["schema_hash"] = m.schema_hash.hex();
  json["parameters"] = m.parameters;
  json["initial_state"] = m.initial_state.hex();
  json["signed"] = to_base64(manifest.bytes);
  return json.dump(2) + "\n";
}

Result<SignedManifest> signed_manifest_from_json(std::string_view text) {
  TRY_ASSIGN(auto const json, parse(text));
  auto const at = json.is_object() ? json.find("signed") : json.end();
  if (at == json.end() || !at->is_string())
    return fail(Errc::config_invalid, "signed: missing; this is no manifest of a run");
  TRY_ASSIGN(auto const bytes, from_base64(at->get<std::string>()));
  TRY_ASSIGN(auto manifest, verify_manifest(bytes));
  // Somebody who edits a readable field must not believe that it counts.
  auto const signed_form = nlohmann::json::parse(to_json(manifest));
  auto const difference = nlohmann::json::diff(signed_form, nlohmann::json(json));
  if (!difference.empty())
    return fail(Errc::config_invalid,
                printable(difference[0]["path"].get<std::string>()) +
                    ": differs from what was signed; a run's manifest cannot be edited");
  return manifest;
}

Result<RunManifest> manifest_from_json(std::string_view text) {
  TRY_ASSIGN(auto const json, parse(text));
  Reader reader(json, "");
  RunManifest manifest;
  visit_manifest(reader, manifest);
  if (auto const* const model = reader.find("model")) {
    TRY_ASSIGN(manifest.model, read_model(*model));
  }
  if (auto const* const inner = reader.find("inner")) {
    Reader nested(*inner, "inner.");
    visit_inner(nested, manifest.inner);
    TRY(nested.finish());
  }
  if (auto const* const outer = reader.find("outer")) {
    Reader nested(*outer, "outer.");
    visit_outer(nested, manifest.outer);
    TRY(nested.finish());
  }
  TRY(reader.finish());
  if (auto const layout = model_layout(manifest.model)) {
    manifest.schema_hash = sha256(as_bytes(layout->canonical_text()));
    manifest.parameters = layout->elements();
  }
  auto const checked = check(manifest);
  if (!checked.has_value()) return fail(Errc::config_invalid, checked.error().detail());
  return manifest;
}

}  // namespace grapevine
