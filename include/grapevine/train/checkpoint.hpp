// Checkpoints: everything a peer needs to go on from a round, as the files of one folder
// (`checkpoints/ROUND/`): a model in the Hugging Face layout (config.json, model.safetensors), the
// optimizers' states beside it, and state.json with the counters and the SHA-256 of every file. The
// node writes them through its Storage door and reads them back; here it is bytes in, bytes out.
// Pure; any thread.
#pragma once

#include "grapevine/crypto/hash.hpp"
#include "grapevine/train/trainer.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace grapevine {

struct Checkpoint {
  Hash run;
  std::uint64_t round = 0;         // rounds that are in the parameters
  std::uint64_t tokens_total = 0;  // this peer has trained on
  std::vector<float> parameters;
  std::vector<float> outer_momentum;  // empty, or one value a parameter
  TrainerState trainer;
};

struct CheckpointFile {
  std::string name;
  Bytes content;
};

// More than any file of a checkpoint of this model has.
[[nodiscard]] std::uint64_t checkpoint_file_bytes_max(TensorLayout const& layout);
// `config_json` may be empty (a model that is not a transformer has none). What is in a file is let
// go of: at most one large tensor is there twice.
[[nodiscard]] std::vector<CheckpointFile> checkpoint_files(Checkpoint checkpoint,
                                                           TensorLayout const& layout,
                                                           std::string_view config_json);

// Errc::checkpoint_corrupt names the file, Errc::schema_mismatch the tensor.
[[nodiscard]] Result<Checkpoint> parse_checkpoint(std::map<std::string, Bytes> const& files,
                                                  TensorLayout const& layout);

// The model alone, as model.safetensors: what others can load, and what they can bring.
[[nodiscard]] Bytes model_file(TensorLayout const& layout, std::span<float const> parameters);
[[nodiscard]] Result<std::vector<float>> read_model_file(ByteView file, TensorLayout const& layout);

}  // namespace grapevine
