#include "grapevine/train/dataset.hpp"

#include "grapevine/base/assert.hpp"
#include "grapevine/base/limits.hpp"
#include "grapevine/base/random.hpp"
#include "grapevine/crypto/hash.hpp"
#include "train/data_file_detail.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace grapevine {
namespace {

constexpr std::uint64_t held_out_part = 16;  // one token in so many, at the end of each file
constexpr std::size_t binary_probe_bytes = 8192;
constexpr std::size_t notes_max = 8;

constexpr std::uint32_t gpt2_magic = 20240520;    // uint16 tokens, version 1
constexpr std::uint32_t llama3_magic = 20240801;  // uint32 tokens, version 7

std::uint32_t read_le(ByteView from, std::uint32_t bytes) {
  std::uint32_t value = 0;
  for (std::uint32_t i = 0; i < bytes; ++i) value |= std::uint32_t{from[i]} << (8 * i);
  return value;
}

// The part of a file that belongs to one of the two streams, in tokens.
struct Slice {
  std::uint64_t stream_first = 0;
  std::uint64_t file_first = 0;
  std::uint64_t count = 0;
};

struct Source {
  DataFile file;
  std::uint64_t data_offset = 0;  // bytes before the first token
  std::uint32_t token_bytes = 1;
  Slice training{};
  Slice held_out{};
};

bool holds_zero(ByteView bytes) { return std::ranges::find(bytes, 0) != bytes.end(); }

Result<Source> make_source(DataFile file) {
  auto const bytes = file.bytes();
  Source source{.file = std::move(file)};
  std::uint64_t tokens = bytes.size();
  if (source.file.path().ends_with(".bin")) {
    auto const header = read_token_shard_header(bytes, bytes.size());
    if (!header)
      return fail(Errc::data_unreadable, source.file.path() + ": " + header.error().detail());
    source.data_offset = token_shard_header_bytes;
    source.token_bytes = header->token_bytes;
    tokens = header->tokens;
  } else if (holds_zero(bytes.first(std::min(bytes.size(), binary_probe_bytes)))) {
    return fail(Errc::data_unreadable, source.file.path() + ": not text, it holds zero bytes");
  }
  source.held_out.count = tokens / held_out_part;
  source.training.count = tokens - source.held_out.count;
  source.held_out.file_first = source.training.count;
  return source;
}

}  // namespace

struct Dataset::State {
  DatasetOptions options;
  std::vector<Source> sources;
  std::vector<std::string> notes;
  std::uint64_t training = 0;
  std::uint64_t held_out = 0;

  Result<> add(Source source);
  void note(std::string line);
  [[nodiscard]] Result<> check() const;

  // Copies tokens [first, first + out.size()) of a stream, which runs on from file to file.
  [[nodiscard]] Result<> copy(Slice Source::* part, std::uint64_t first,
                              std::span<std::int64_t> out) const;
  [[nodiscard]] Result<> copy(Source const& source, std::uint64_t file_first,
                              std::span<std::int64_t> out) const;
};

Result<> Dataset::State::add(Source source) {
  if (source.training.count == 0) return {};
  bool const text = source.token_bytes == 1;
  if (text && options.vocab_size < 256)
    return fail(Errc::data_unreadable,
                fmt::format("{}: text has 256 tokens, the vocabulary only {}", source.file.path(),
                            options.vocab_size));
  if (!sources.empty() && (sources.front().token_bytes == 1) != text)
    return fail(Errc::data_unreadable,
                fmt::format("{} and {}: text and token shards in one folder",
                            sources.front().file.path(), source.file.path()));
  source.training.stream_first = training;
  source.held_out.stream_first = held_out;
  training += source.training.count;
  held_out += source.held_out.count;
  sources.push_back(std::move(source));
  return {};
}

void Dataset::State::note(std::string line) {
  if (notes.size() < notes_max) notes.push_back(std::move(line));
}

Result<> Dataset::State::check() const {
  if (sources.empty())
    return fail(Errc::data_missing, options.path + ": no text and no token shard in it");
  std::uint64_t const row = std::uint64_t{options.context} + 1;
  if (training >= row * options.batch && held_out >= row) return {};
  return fail(
      Errc::data_too_short,
      fmt::format("{}: {} tokens, where a batch of {} sequences of {} and a held-out part "
                  "need about {}",
                  options.path, training + held_out, options.batch, row, tokens_needed(options)));
}

Result<> Dataset::State::copy(Slice Source::* part, std::uint64_t first,
                              std::span<std::int64_t> out) const {
  auto const begins = [part](Source const& source) { return (source.*part).stream_first; };
  auto source = std::ranges::upper_bound(sources, first, {}, begins);
  ASSERT(source != sources.begin());
  --source;  // of files without tokens in this stream, the last: it is the one that has some
  while (!out.empty()) {
    ASSERT(source != sources.end());
    Slice const& slice = (*source).*part;
    std::uint64_t const within = first - slice.stream_first;
    auto const count = std::min<std::uint64_t>(slice.count - within, out.size());
    TRY(copy(*source, slice.file_first + within, out.first(count)));
    out = out.subspan(count);
    first += count;
    ++source;
  }
  return {};
}

Result<> Dataset::State::copy(Source const& source, std::uint64_t file_first,
                              std::span<std::int64_t> out) const {
  auto const from = source.file.bytes().subspan(
      source.data_offset + file_first * source.token_bytes, out.size() * source.token_bytes);
  for (std::size_t i = 0; i < out.size(); ++i) {
    std::uint32_t const token = read_le(from.subspan(i * source.token_bytes), source.token_bytes);
    if (token >= options.vocab_size)
      return fail(Errc::data_unreadable,
                  fmt::format("{}: token {} in a vocabulary of {}", source.file.path(), token,
                              options.vocab_size));
    out[i] = token;
  }
  return {};
}

Dataset::Dataset(std::unique_ptr<State> state) : state_(std::move(state)) {}
Dataset::~Dataset() = default;
Dataset::Dataset(Dataset&&) noexcept = default;
Dataset& Dataset::operator=(Dataset&&) noexcept = default;

Result<Dataset> Dataset::open(DatasetOptions const& options) {
  auto state = std::make_unique<State>();
  state->options = options;
  if (!is_folder(options.path)) {
    TRY_ASSIGN(auto file, DataFile::open(options.path));
    TRY_ASSIGN(auto source, make_source(std::move(file)));
    TRY(state->add(std::move(source)));
  } else {
    TRY_ASSIGN(auto found, find_files(options.path));
    for (auto& line : found.notes) state->note(std::move(line));
    for (auto const& path : found.paths) {
      auto source = DataFile::open(path).and_then(make_source);
      if (!source) {
        state->note(source.error().detail());  // one bad file does not spoil a folder
        continue;
      }
      TRY(state->add(*std::move(source)));
    }
  }
  TRY(state->check());
  return Dataset(std::move(state));
}

Result<Dataset> Dataset::from_text(std::string name, std::string_view text,
                                   DatasetOptions const& options) {
  auto state = std::make_unique<State>();
  state->options = options;
  state->options.path = name;
  TRY_ASSIGN(auto source, make_source(DataFile::from_text(std::move(name), text)));
  TRY(state->add(std::move(source)));
  TRY(state->check());
  return Dataset(std::move(state));
}

std::uint64_t Dataset::training_tokens() const { return state_->training; }
std::uint64_t Dataset::held_out_tokens() const { return state_->held_out; }
std::size_t Dataset::files() const { return state_->sources.size(); }
std::vector<std::string> const& Dataset::notes() const { return state_->notes; }

Result<> Dataset::sample(std::uint64_t seed, std::uint64_t position,
                         std::span<std::int64_t> rows) const {
  std::size_t const row = std::size_t{state_->options.context} + 1;
  ASSERT(rows.size() % row == 0);
  SeededRandom base(seed);
  SeededRandom random(base.next() ^ position);
  for (std::size_t i = 0; i < rows.size(); i += row) {
    auto const first = random.below(state_->training - row + 1);
    TRY(state_->copy(&Source::training, first, rows.subspan(i, row)));
  }
  return {};
}

std::uint64_t Dataset::held_out_windows(std::uint64_t max) const {
  return std::min<std::uint64_t>(max,
                                 state_->held_out / (std::uint64_t{state_->options.context} + 1));
}

Result<> Dataset::held_out(std::uint64_t index, std::uint64_t windows,
                           std::span<std::int64_t> row) const {
  ASSERT(index < windows);
  ASSERT(row.size() == std::size_t{state_->options.context} + 1);
  // Windows do not overlap: there are at most as many as fit.
  std::uint64_t const stride = state_->held_out / windows;
  return state_->copy(&Source::held_out, index * stride, row);
}

std::uint64_t tokens_needed(DatasetOptions const& options) {
  std::uint64_t const row = std::uint64_t{options.context} + 1;
  return std::max(row * options.batch * held_out_part / (held_out_part - 1) + 1,
                  row * held_out_part);
}

std::uint64_t sampling_seed(std::uint64_t run_seed, ByteView peer_id) {
  Bytes text;
  append_be(text, run_seed);
  append(text, peer_id);
  return read_be<std::uint64_t>(sha256(text).view());
}

Result<TokenShardHeader> read_token_shard_header(ByteView start, std::uint64_t file_bytes) {
  if (start.size() < token_shard_header_bytes)
    return fail(Errc::data_unreadable, "shorter than the header of a token shard");
  auto const field = [&](std::size_t index) { return read_le(start.subspan(index * 4), 4); };
  bool const narrow = field(0) == gpt2_magic && field(1) == 1;
  bool const wide = field(0) == llama3_magic && field(1) == 7;
  if (!narrow && !wide)
    return fail(Errc::data_unreadable,
                fmt::format("not a token shard: magic {} version {}", field(0), field(1)));
  TokenShardHeader const header{.tokens = field(2), .token_bytes = narrow ? 2U : 4U};
  if (header.tokens * header.token_bytes != file_bytes - token_shard_header_bytes)
    return fail(Errc::data_unreadable, fmt::format("{} tokens announced in {} bytes", header.tokens,
                                                   file_bytes - token_shard_header_bytes));
  return header;
}

}  // namespace grapevine
