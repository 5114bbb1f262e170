#include "grapevine/train/checkpoint.hpp"

#include "grapevine/base/assert.hpp"
#include "grapevine/base/limits.hpp"
#include "grapevine/tensor/safetensors.hpp"
#include "grapevine/train/trainer_state.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace grapevine {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view format = "grapevine.checkpoint/1";
constexpr char const* config_name = "config.json";
constexpr char const* model_name = "model.safetensors";
constexpr char const* optimizer_name = "optimizer.safetensors";
constexpr char const* outer_name = "outer.safetensors";
constexpr char const* state_name = "state.json";

ByteView bytes_of(std::span<float const> values) {
  return {reinterpret_cast<std::uint8_t const*>(values.data()), values.size_bytes()};
}

std::vector<float> floats_of(ByteView bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

Bytes write_optimizer(TrainerState const& state) {
  std::vector<safetensors::Entry> entries;
  for (auto const& tensor : state.tensors)
    entries.push_back(
        {.name = tensor.name, .shape = tensor.shape, .data = bytes_of(tensor.values)});
  return safetensors::write(entries, {});
}

Bytes write_state(Checkpoint const& checkpoint, std::vector<CheckpointFile> const& files) {
  Json json;
  json["format"] = format;
  json["run"] = checkpoint.run.hex();
  json["round"] = checkpoint.round;
  json["tokens_total"] = checkpoint.tokens_total;
  json["position"] = checkpoint.trainer.position;
  json["optimizer_steps"] = checkpoint.trainer.optimizer_steps;
  for (auto const& file : files) json["files"][file.name] = sha256(file.content).hex();
  // Over everything above: a changed digit of a counter is noticed like any other damage.
  json["sha256"] = sha256(as_bytes(json.dump())).hex();
  Bytes bytes;
  append(bytes, as_bytes(json.dump(2) + "\n"));
  return bytes;
}

tl::unexpected<Error> corrupt(std::string_view file, std::string_view what) {
  return fail(Errc::checkpoint_corrupt, fmt::format("{}: {}", file, what));
}

Result<ByteView> find(std::map<std::string, Bytes> const& files, std::string const& name) {
  auto const at = files.find(name);
  if (at == files.end()) return corrupt(name, "missing");
  return ByteView(at->second);
}

Result<std::uint64_t> counter(Json const& json, char const* field, std::uint64_t max) {
  auto const at = json.find(field);
  if (at == json.end() || !at->is_number_unsigned())
    return corrupt(state_name, fmt::format("{} is not a count", field));
  auto const value = at->get<std::uint64_t>();
  if (value > max) return corrupt(state_name, fmt::format("{} is over {}", field, max));
  return value;
}

Result<std::string> text(Json const& json, char const* field) {
  auto const at = json.find(field);
  if (at == json.end() || !at->is_string())
    return corrupt(state_name, fmt::format("{} is not text", field));
  return at->get<std::string>();
}

Result<Json> read_state(std::map<std::string, Bytes> const& files) {
  TRY_ASSIGN(auto const bytes, find(files, state_name));
  if (bytes.size() > limits::checkpoint_state_max) return corrupt(state_name, "too large");
  auto json = Json::parse(as_text(bytes), nullptr, false);
  if (!json.is_object()) return corrupt(state_name, "not a JSON object");
  TRY_ASSIGN(auto const version, text(json, "format"));
  if (version != format) return corrupt(state_name, "another format");
  TRY_ASSIGN(auto const sum, text(json, "sha256"));
  json.erase("sha256");
  if (sha256(as_bytes(json.dump(-1, ' ', false, Json::error_handler_t::replace))).hex() != sum)
    return corrupt(state_name, "does not have its own hash");
  return json;
}

Result<> check_hashes(Json const& state, std::map<std::string, Bytes> const& files) {
  auto const listed = state.find("files");
  if (listed == state.end() || !listed->is_object()) return corrupt(state_name, "lists no files");
  for (char const* required : {model_name, optimizer_name})
    if (!listed->contains(required)) return corrupt(required, "not listed");
  for (auto const& [name, sum] : listed->items()) {
    TRY_ASSIGN(auto const content, find(files, name));
    if (!sum.is_string() || sum.get<std::string>() != sha256(content).hex())
      return corrupt(name, "does not have its hash");
  }
  return {};
}

// The hash of the file is right, so a wrong tensor means another model, not damage.
Result<std::vector<float>> flat(safetensors::File const& file, TensorLayout const& layout) {
  std::vector<float> values(layout.elements());
  for (auto const& tensor : layout.tensors()) {
    auto const at = file.tensors.find(tensor.name);
    if (at == file.tensors.end()) return fail(Errc::schema_mismatch, tensor.name + ": missing");
    if (at->second.dtype != safetensors::Dtype::f32 || at->second.shape != tensor.shape)
      return fail(Errc::schema_mismatch, tensor.name + ": another type or shape");
    std::memcpy(values.data() + tensor.offset, at->second.data.data(), at->second.data.size());
  }
  if (file.tensors.size() != layout.tensors().size())
    return fail(Errc::schema_mismatch, "tensors that the model does not have");
  TRY(check_parameters(layout, values));
  return values;
}

Result<std::vector<TrainerState::Tensor>> read_optimizer(ByteView bytes) {
  auto const file = safetensors::parse(bytes);
  if (!file) return corrupt(optimizer_name, file.error().detail());
  std::vector<TrainerState::Tensor> tensors;
  for (auto const& [name, view] : file->tensors) {
    if (view.dtype != safetensors::Dtype::f32)
      return fail(Errc::schema_mismatch, name + ": another type");
    tensors.push_back({name, view.shape, floats_of(view.data)});
  }
  return tensors;
}

}  // namespace

std::uint64_t checkpoint_file_bytes_max(TensorLayout const& layout) {
  constexpr std::uint64_t optimizer_values_max = 4;  // of a parameter; AdamW keeps two
  return limits::safetensors_header_max + optimizer_values_max * layout.elements() * sizeof(float);
}

Bytes model_file(TensorLayout const& layout, std::span<float const> parameters) {
  ASSERT(parameters.size() == layout.elements());
  std::vector<safetensors::Entry> entries;
  for (auto const& tensor : layout.tensors())
    entries.push_back({.name = tensor.name,
                       .shape = tensor.shape,
                       .data = bytes_of(parameters.subspan(tensor.offset, tensor.elements))});
  return safetensors::write(entries, {{"format", "pt"}});
}

Result<std::vector<float>> read_model_file(ByteView bytes, TensorLayout const& layout) {
  TRY_ASSIGN(auto const file, safetensors::parse(bytes));
  return flat(file, layout);
}

std::vector<CheckpointFile> checkpoint_files(Checkpoint checkpoint, TensorLayout const& layout,
                                             std::string_view config_json) {
  std::vector<CheckpointFile> files;
  if (!config_json.empty()) {
    files.push_back({config_name, {}});
    append(files.back().content, as_bytes(config_json));
  }
  files.push_back({model_name, model_file(layout, checkpoint.parameters)});
  checkpoint.parameters = {};
  files.push_back({optimizer_name, write_optimizer(checkpoint.trainer)});
  checkpoint.trainer.tensors = {};
  if (!checkpoint.outer_momentum.empty())
    files.push_back({outer_name, model_file(layout, checkpoint.outer_momentum)});
  files.push_back({state_name, write_state(checkpoint, files)});
  return files;
}

Result<Checkpoint> parse_checkpoint(std::map<std::string, Bytes> const& files,
                                    TensorLayout const& layout) {
  TRY_ASSIGN(auto const state, read_state(files));
  TRY(check_hashes(state, files));
  Checkpoint checkpoint;
  TRY_ASSIGN(auto const run, text(state, "run"));
  auto const hash = Hash::parse(run);
  if (!hash) return corrupt(state_name, "run is not a hash");
  checkpoint.run = *hash;
  TRY_ASSIGN(checkpoint.round, counter(state, "round", limits::rounds_max));
  TRY_ASSIGN(checkpoint.tokens_total, counter(state, "tokens_total", limits::tokens_total_max));
  TRY_ASSIGN(checkpoint.trainer.position, counter(state, "position", limits::schedule_steps_max));
  TRY_ASSIGN(checkpoint.trainer.optimizer_steps,
             counter(state, "optimizer_steps", limits::schedule_steps_max));
  TRY_ASSIGN(checkpoint.parameters, read_model_file(files.at(model_name), layout));
  TRY_ASSIGN(checkpoint.trainer.tensors, read_optimizer(files.at(optimizer_name)));
  if (state.at("files").contains(outer_name)) {
    TRY_ASSIGN(checkpoint.outer_momentum, read_model_file(files.at(outer_name), layout));
  }
  return checkpoint;
}

}  // namespace grapevine
