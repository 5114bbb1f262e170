// Dataset: the tokens of this peer's own data. A text file or a folder of them (bytes are tokens),
// or token shards as llm.c writes them. The files are laid end to end in the order of their paths;
// the tail of each is held out. Sampling depends on (run seed, peer, position) alone, so that a
// resumed peer goes on where it stopped. Owned by the train worker; reads files, writes nothing.
// Large files are mapped: replace one while it is in use (rename over it), never shorten it.
#pragma once

#include "grapevine/base/bytes.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace grapevine {

struct DatasetOptions {
  std::string path;                // a file or a folder
  std::uint32_t vocab_size = 256;  // tokens must be below it
  std::uint32_t context = 128;     // tokens a sequence predicts
  std::uint32_t batch = 16;        // sequences that must be there to train on
};

// About how many tokens there must be for a batch to train on and a sequence to hold out.
[[nodiscard]] std::uint64_t tokens_needed(DatasetOptions const& options);

// A batch is `sequences` rows of context + 1 tokens: inputs and, shifted by one, targets.
class Dataset {
 public:
  // Errc::data_missing, data_unreadable or data_too_short: the path, and what is needed.
  [[nodiscard]] static Result<Dataset> open(DatasetOptions const& options);
  // Text already in memory, as one file named `name`.
  [[nodiscard]] static Result<Dataset> from_text(std::string name, std::string_view text,
                                                 DatasetOptions const& options);
  ~Dataset();
  Dataset(Dataset&&) noexcept;
  Dataset& operator=(Dataset&&) noexcept;

  [[nodiscard]] std::uint64_t training_tokens() const;
  [[nodiscard]] std::uint64_t held_out_tokens() const;
  [[nodiscard]] std::size_t files() const;
  // Files of the folder that were left out, and why: one line each, the first few.
  [[nodiscard]] std::vector<std::string> const& notes() const;

  // Batch number `position` of the stream `seed`: random windows of the training part. A token
  // outside the vocabulary: Errc::data_unreadable names the file.
  [[nodiscard]] Result<> sample(std::uint64_t seed, std::uint64_t position,
                                std::span<std::int64_t> rows) const;
  // Evenly spread windows of the held-out part, as many as there are up to `max`.
  [[nodiscard]] std::uint64_t held_out_windows(std::uint64_t max) const;
  [[nodiscard]] Result<> held_out(std::uint64_t index, std::uint64_t windows,
                                  std::span<std::int64_t> row) const;

 private:
  struct State;
  explicit Dataset(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// The seed of one peer's samples in one run.
[[nodiscard]] std::uint64_t sampling_seed(std::uint64_t run_seed, ByteView peer_id);

// The header of a token shard: 256 little-endian int32: magic, version, number of tokens.
struct TokenShardHeader {
  std::uint64_t tokens = 0;
  std::uint32_t token_bytes = 2;
};
inline constexpr std::size_t token_shard_header_bytes = 1024;
// `start` is the beginning of a file of `file_bytes`. Errc::data_unreadable says what is wrong.
[[nodiscard]] Result<TokenShardHeader> read_token_shard_header(ByteView start,
                                                               std::uint64_t file_bytes);

}  // namespace grapevine
