#include "grapevine/tensor/model_config.hpp"

#include "grapevine/base/limits.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>

namespace grapevine {
namespace {

// nano: few wide layers, because on half a core the cost of a step is the number of kernels.
ModelConfig nano() {
  return {.preset = "nano", .hidden_size = 128, .intermediate_size = 512, .layers = 4};
}
ModelConfig micro() {
  return {.preset = "micro",
          .hidden_size = 384,
          .intermediate_size = 1024,
          .layers = 6,
          .heads = 6,
          .context = 256};
}
// small: the vocabulary of GPT-2, which is what token shards in the wild are made with.
ModelConfig small() {
  return {.preset = "small",
          .vocab_size = 50257,
          .hidden_size = 768,
          .intermediate_size = 2048,
          .layers = 12,
          .heads = 12,
          .kv_heads = 12,
          .context = 1024};
}

constexpr std::size_t preset_name_max = 64;

Result<> in_range(char const* field, std::uint64_t value, std::uint64_t max) {
  if (value >= 1 && value <= max) return {};
  return fail(Errc::config_invalid, fmt::format("{}: {} is not in 1..{}", field, value, max));
}

Result<> check_preset_name(std::string_view name) {
  bool const plain = std::ranges::all_of(name, [](char c) { return c > ' ' && c <= '~'; });
  if (!name.empty() && name.size() <= preset_name_max && plain) return {};
  return fail(Errc::config_invalid, "preset: not a short plain name");
}

// What a person reads as the name of a field is what they wrote, in a manifest or a config.json.
// The others are called the same in both.
struct FieldNames {
  char const* layers = "layers";
  char const* heads = "heads";
  char const* kv_heads = "kv_heads";
  char const* context = "context";
  char const* rms_eps = "rms_eps";
};

constexpr FieldNames manifest_names;
constexpr FieldNames hugging_face_names{.layers = "num_hidden_layers",
                                        .heads = "num_attention_heads",
                                        .kv_heads = "num_key_value_heads",
                                        .context = "max_position_embeddings",
                                        .rms_eps = "rms_norm_eps"};

Result<> check_ranges(ModelConfig const& config, FieldNames const& names) {
  TRY(in_range("vocab_size", config.vocab_size, limits::model_vocab_max));
  TRY(in_range("hidden_size", config.hidden_size, limits::model_width_max));
  TRY(in_range("intermediate_size", config.intermediate_size, limits::model_width_max));
  TRY(in_range(names.layers, config.layers, limits::model_layers_max));
  TRY(in_range(names.heads, config.heads, limits::model_heads_max));
  TRY(in_range(names.kv_heads, config.kv_heads, limits::model_heads_max));
  return in_range(names.context, config.context, limits::model_context_max);
}

// "2 or 4": the divisors of `whole` on both sides of `count`.
std::string nearest_divisors(std::uint32_t whole, std::uint32_t count) {
  auto below = std::min(whole, count);
  auto above = below;
  while (whole % below != 0) --below;
  while (whole % above != 0) ++above;
  return below == above ? fmt::to_string(below) : fmt::format("{} or {}", below, above);
}

// The heads share out the width evenly, each an even one, for rotation turns pairs.
Result<> check_heads(ModelConfig const& config, FieldNames const& names) {
  if (config.hidden_size % 2 != 0)
    return fail(Errc::config_invalid, fmt::format("hidden_size: {} is odd", config.hidden_size));
  if (config.hidden_size / 2 % config.heads != 0)
    return fail(Errc::config_invalid,
                fmt::format("{}: {} do not share out hidden_size {} in even widths; {} would",
                            names.heads, config.heads, config.hidden_size,
                            nearest_divisors(config.hidden_size / 2, config.heads)));
  if (config.heads % config.kv_heads != 0)
    return fail(
        Errc::config_invalid,
        fmt::format("{}: {} do not divide {} {}; {} would", names.kv_heads, config.kv_heads,
                    names.heads, config.heads, nearest_divisors(config.heads, config.kv_heads)));
  return {};
}

Result<> check_as(ModelConfig const& config, FieldNames const& names) {
  TRY(check_preset_name(config.preset));
  TRY(check_ranges(config, names));
  TRY(check_heads(config, names));
  if (!std::isfinite(config.rope_theta) || config.rope_theta <= 1.0F)
    return fail(Errc::config_invalid, "rope_theta: not a number above 1");
  if (!std::isfinite(config.rms_eps) || config.rms_eps <= 0.0F || config.rms_eps >= 1.0F)
    return fail(Errc::config_invalid, fmt::format("{}: not between 0 and 1", names.rms_eps));
  // At most 2^9 layers of a few times 2^34 elements: the product cannot overflow 64 bits.
  std::uint64_t const width = config.hidden_size;
  std::uint64_t const layer = width * (4 * width + 3ull * config.intermediate_size);
  std::uint64_t const heads = 2 * width * config.vocab_size;
  if (layer * config.layers + heads > limits::model_elements_max)
    return fail(Errc::config_invalid,
                fmt::format("{}: the model has too many parameters", names.layers));
  return {};
}

void add_layer(std::vector<TensorSpec>& tensors, ModelConfig const& config, std::uint32_t layer) {
  std::int64_t const width = config.hidden_size;
  std::int64_t const inner = config.intermediate_size;
  std::int64_t const kv_width = width / config.heads * config.kv_heads;
  auto const add = [&](char const* name, std::vector<std::int64_t> shape) {
    tensors.push_back(
        {.name = fmt::format("model.layers.{}.{}", layer, name), .shape = std::move(shape)});
  };
  add("input_layernorm.weight", {width});
  add("self_attn.q_proj.weight", {width, width});
  add("self_attn.k_proj.weight", {kv_width, width});
  add("self_attn.v_proj.weight", {kv_width, width});
  add("self_attn.o_proj.weight", {width, width});
  if (config.qkv_bias) {
    add("self_attn.q_proj.bias", {width});
    add("self_attn.k_proj.bias", {kv_width});
    add("self_attn.v_proj.bias", {kv_width});
  }
  add("post_attention_layernorm.weight", {width});
  add("mlp.gate_proj.weight", {inner, width});
  add("mlp.up_proj.weight", {inner, width});
  add("mlp.down_proj.weight", {width, inner});
}

// The shortest decimal that reads back as the same float: 1e-05, not 9.999999747378752e-06.
double shortest(float value) { return std::stod(fmt::format("{}", value)); }

class ConfigReader {
 public:
  explicit ConfigReader(nlohmann::json const& json) : json_(json) {}

  Result<> read(char const* field, std::uint32_t& value, bool required = true) const {
    auto const at = json_.find(field);
    if (at == json_.end() || at->is_null()) {
      if (!required) return {};
      return fail(Errc::config_invalid, fmt::format("config.json: {} is missing", field));
    }
    if (!at->is_number_unsigned() || at->get<std::uint64_t>() > UINT32_MAX)
      return fail(Errc::config_invalid, fmt::format("config.json: {} is not a count", field));
    value = at->get<std::uint32_t>();
    return {};
  }
  Result<> read(char const* field, float& value) const {
    auto const at = json_.find(field);
    if (at == json_.end()) return {};
    if (!at->is_number())
      return fail(Errc::config_invalid, fmt::format("config.json: {} is not a number", field));
    value = at->get<float>();
    return {};
  }
  Result<> read(char const* field, bool& value) const {
    auto const at = json_.find(field);
    if (at == json_.end()) return {};
    if (!at->is_boolean())
      return fail(Errc::config_invalid, fmt::format("config.json: {} is not true or false", field));
    value = at->get<bool>();
    return {};
  }
  Result<> read(char const* field, std::string& value) const {
    auto const at = json_.find(field);
    if (at == json_.end()) return {};
    if (!at->is_string())
      return fail(Errc::config_invalid, fmt::format("config.json: {} is not text", field));
    value = at->get<std::string>();
    return {};
  }
  // A feature of other models that would change the arithmetic silently if it were ignored.
  Result<> refuse(char const* field) const {
    auto const at = json_.find(field);
    if (at == json_.end() || at->is_null() || *at == false) return {};
    return fail(Errc::unsupported, fmt::format("config.json: {} is set", field));
  }

 private:
  nlohmann::json const& json_;
};

Result<> read_variant(ConfigReader const& reader, ModelConfig& config) {
  std::string type;
  TRY(reader.read("model_type", type));
  if (type != "llama" && type != "qwen2")
    return fail(Errc::unsupported, "config.json: model_type is neither llama nor qwen2");
  config.qkv_bias = type == "qwen2";
  std::string activation = "silu";
  TRY(reader.read("hidden_act", activation));
  if (activation != "silu") return fail(Errc::unsupported, "config.json: hidden_act is not silu");
  for (char const* feature : {"rope_scaling", "attention_bias", "mlp_bias", "use_sliding_window",
                              "quantization_config"}) {
    TRY(reader.refuse(feature));
  }
  return {};
}

}  // namespace

Result<ModelConfig> model_preset(std::string_view name) {
  if (name == "nano") return nano();
  if (name == "micro") return micro();
  if (name == "small") return small();
  return fail(Errc::config_invalid, fmt::format("preset: {:.64} is not one of {}", name,
                                                fmt::join(model_preset_names(), ", ")));
}

std::vector<std::string> model_preset_names() { return {"nano", "micro", "small"}; }

Result<> check(ModelConfig const& config) { return check_as(config, manifest_names); }

Result<TensorLayout> model_layout(ModelConfig const& config) {
  TRY(check(config));
  std::int64_t const vocab = config.vocab_size;
  std::int64_t const width = config.hidden_size;
  std::vector<TensorSpec> tensors{{.name = "model.embed_tokens.weight", .shape = {vocab, width}},
                                  {.name = "model.norm.weight", .shape = {width}}};
  if (!config.tied_head) tensors.push_back({.name = "lm_head.weight", .shape = {vocab, width}});
  for (std::uint32_t layer = 0; layer < config.layers; ++layer) add_layer(tensors, config, layer);
  return TensorLayout::make(std::move(tensors));
}

std::string to_config_json(ModelConfig const& config) {
  nlohmann::ordered_json json;
  json["architectures"] = {config.qkv_bias ? "Qwen2ForCausalLM" : "LlamaForCausalLM"};
  json["model_type"] = config.qkv_bias ? "qwen2" : "llama";
  json["vocab_size"] = config.vocab_size;
  json["hidden_size"] = config.hidden_size;
  json["intermediate_size"] = config.intermediate_size;
  json["num_hidden_layers"] = config.layers;
  json["num_attention_heads"] = config.heads;
  json["num_key_value_heads"] = config.kv_heads;
  json["max_position_embeddings"] = config.context;
  json["rope_theta"] = shortest(config.rope_theta);
  json["rms_norm_eps"] = shortest(config.rms_eps);
  json["hidden_act"] = "silu";
  json["tie_word_embeddings"] = config.tied_head;
  json["torch_dtype"] = "float32";
  json["grapevine_preset"] = config.preset;
  return json.dump(2) + "\n";
}

Result<ModelConfig> from_config_json(std::string_view text) {
  if (text.size() > limits::model_config_json_max)
    return fail(Errc::oversize, fmt::format("config.json: {} bytes", text.size()));
  auto const json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return fail(Errc::config_invalid, "config.json: not a JSON object");
  ConfigReader const reader(json);
  ModelConfig config;
  config.tied_head = false;  // the defaults of Hugging Face, not ours
  config.rms_eps = 1e-6F;
  TRY(read_variant(reader, config));
  TRY(reader.read("vocab_size", config.vocab_size));
  TRY(reader.read("hidden_size", config.hidden_size));
  TRY(reader.read("intermediate_size", config.intermediate_size));
  TRY(reader.read("num_hidden_layers", config.layers));
  TRY(reader.read("num_attention_heads", config.heads));
  config.kv_heads = config.heads;
  TRY(reader.read("num_key_value_heads", config.kv_heads, false));
  TRY(reader.read("max_position_embeddings", config.context));
  TRY(reader.read("rope_theta", config.rope_theta));
  TRY(reader.read("rms_norm_eps", config.rms_eps));
  TRY(reader.read("tie_word_embeddings", config.tied_head));
  TRY(reader.read("grapevine_preset", config.preset));
  TRY(check_as(config, hugging_face_names));
  std::uint32_t head_width = config.hidden_size / config.heads;
  TRY(reader.read("head_dim", head_width, false));
  if (head_width != config.hidden_size / config.heads)
    return fail(Errc::unsupported, "config.json: head_dim is not hidden_size / heads");
  return config;
}

}  // namespace grapevine
