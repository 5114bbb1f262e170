#include "grapevine/tensor/model_config.hpp"

#include "grapevine/base/limits.hpp"

#include <doctest/doctest.h>

using namespace grapevine;

namespace {

// The message of the error that `change` causes in a valid config.
template <class Change>
std::string complaint(Change change) {
  ModelConfig config;
  change(config);
  auto const result = check(config);
  return result ? "accepted" : result.error().detail();
}

Result<ModelConfig> reread(std::string json, std::string const& from, std::string const& to) {
  auto const at = json.find(from);
  REQUIRE(at != std::string::npos);
  return from_config_json(json.replace(at, from.size(), to));
}

}  // namespace

TEST_CASE("presets have the sizes they are named for") {
  auto const elements = [](char const* name) {
    return model_layout(model_preset(name).value()).value().elements();
  };
  CHECK(elements("nano") == 1'016'960);
  CHECK(elements("micro") == 9'540'480);
  CHECK(elements("small") == 123'551'232);
  CHECK(model_preset("huge").error().detail() == "preset: huge is not one of nano, micro, small");
  for (auto const& name : model_preset_names()) {
    CHECK(model_preset(name)->preset == name);
    CHECK(check(*model_preset(name)).has_value());
  }
}

TEST_CASE("check names the field") {
  using C = ModelConfig;
  CHECK(complaint([](C&) {}) == "accepted");
  CHECK(complaint([](C& c) { c.vocab_size = 0; }).starts_with("vocab_size:"));
  CHECK(complaint([](C& c) { c.vocab_size = limits::model_vocab_max; }) == "accepted");
  CHECK(complaint([](C& c) {
          c.vocab_size = limits::model_vocab_max + 1;
        }).starts_with("vocab_size:"));
  CHECK(complaint([](C& c) { c.hidden_size = 129; }).starts_with("hidden_size:"));
  CHECK(complaint([](C& c) { c.hidden_size = 130; }) ==
        "heads: 4 do not share out hidden_size 130 in even widths; 1 or 5 would");
  CHECK(complaint([](C& c) { c.hidden_size = 4; }).ends_with("even widths; 2 would"));
  CHECK(complaint([](C& c) { c.heads = 3; }).ends_with("even widths; 2 or 4 would"));
  CHECK(complaint([](C& c) { c.intermediate_size = 0; }).starts_with("intermediate_size:"));
  CHECK(complaint([](C& c) { c.layers = limits::model_layers_max + 1; }).starts_with("layers:"));
  CHECK(complaint([](C& c) { c.heads = 0; }).starts_with("heads:"));
  CHECK(complaint([](C& c) { c.kv_heads = 3; }) ==
        "kv_heads: 3 do not divide heads 4; 2 or 4 would");
  CHECK(complaint([](C& c) { c.kv_heads = 5; }).ends_with("; 4 would"));
  CHECK(complaint([](C& c) { c.kv_heads = 0; }).starts_with("kv_heads:"));
  CHECK(complaint([](C& c) { c.context = 0; }).starts_with("context:"));
  CHECK(complaint([](C& c) { c.rope_theta = 0; }).starts_with("rope_theta:"));
  CHECK(complaint([](C& c) { c.rms_eps = -1; }).starts_with("rms_eps:"));
  CHECK(complaint([](C& c) { c.preset = "two\nlines"; }).starts_with("preset:"));
  CHECK(complaint([](C& c) {
          c.hidden_size = c.intermediate_size = limits::model_width_max;
          c.layers = limits::model_layers_max;
        }).starts_with("layers:"));
}

TEST_CASE("the layout carries Hugging Face names and shapes") {
  ModelConfig config;
  auto layout = model_layout(config).value();
  CHECK(layout.tensors().size() == 2 + 9 * config.layers);
  using Shape = std::vector<std::int64_t>;
  CHECK(layout.find("model.embed_tokens.weight")->shape == Shape{256, 128});
  CHECK(layout.find("model.layers.3.self_attn.k_proj.weight")->shape == Shape{64, 128});
  CHECK(layout.find("model.layers.3.mlp.down_proj.weight")->shape == Shape{128, 352});
  CHECK(layout.find("lm_head.weight") == nullptr);
  config.tied_head = false;
  config.qkv_bias = true;
  layout = model_layout(config).value();
  CHECK(layout.tensors().size() == 3 + 12 * config.layers);
  CHECK(layout.find("lm_head.weight")->shape == Shape{256, 128});
  CHECK(layout.find("model.layers.0.self_attn.v_proj.bias")->shape == Shape{64});
}

TEST_CASE("config.json goes both ways") {
  for (auto const& name : model_preset_names()) {
    auto config = model_preset(name).value();
    config.qkv_bias = name == "micro";
    config.tied_head = name == "nano";
    CHECK(from_config_json(to_config_json(config)).value() == config);
  }
  CHECK(to_config_json({}).find("1e-05") != std::string::npos);
}

TEST_CASE("config.json refuses what this model does not compute") {
  auto const json = to_config_json({});
  CHECK(reread(json, "\"llama\"", "\"gpt2\"").error().errc() == Errc::unsupported);
  CHECK(reread(json, "\"silu\"", "\"gelu\"").error().errc() == Errc::unsupported);
  CHECK(reread(json, "{", "{\"rope_scaling\":{\"type\":\"linear\"},").error().errc() ==
        Errc::unsupported);
  CHECK(reread(json, "{", "{\"head_dim\":7,").error().errc() == Errc::unsupported);
  CHECK(reread(json, "{", "{\"rope_scaling\":null,\"head_dim\":32,").has_value());
  CHECK(reread(json, ": 256", ": -1").error().detail() == "config.json: vocab_size is not a count");
  CHECK(reread(json, "\"vocab_size\"", "\"x\"").error().detail() ==
        "config.json: vocab_size is missing");
  CHECK(reread(json, "heads\": 4", "heads\": 3")
            .error()
            .detail()
            .starts_with("num_attention_heads: 3 do not share out hidden_size 128"));
  CHECK(from_config_json("[]").error().errc() == Errc::config_invalid);
  CHECK(from_config_json("{").error().errc() == Errc::config_invalid);
  CHECK(from_config_json(std::string(limits::model_config_json_max + 1, ' ')).error().errc() ==
        Errc::oversize);
}
