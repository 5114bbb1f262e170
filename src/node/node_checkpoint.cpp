// Checkpoints: the state between two rounds, written beside the training and read at the start.

#include "grapevine/base/log.hpp"
#include "grapevine/tensor/model_config.hpp"
#include "node/node_state_detail.hpp"

#include <algorithm>
#include <charconv>

namespace grapevine {
namespace {

constexpr std::string_view folder = "checkpoints";

std::optional<std::uint64_t> round_of(std::string const& name) {
  std::uint64_t round = 0;
  auto const [end, error] = std::from_chars(name.data(), name.data() + name.size(), round);
  if (error != std::errc{} || end != name.data() + name.size()) return std::nullopt;
  return round;
}

std::string path_of(std::uint64_t round) {
  return std::string(folder) + "/" + std::to_string(round);
}

// Rounds that have a checkpoint folder, newest first.
std::vector<std::uint64_t> rounds_on_disk(Storage& storage) {
  std::vector<std::uint64_t> rounds;
  if (auto const names = storage.list(folder))
    for (auto const& name : *names)
      if (auto const round = round_of(name)) rounds.push_back(*round);
  std::ranges::sort(rounds, std::greater{});
  return rounds;
}

Result<Checkpoint> read_checkpoint(Storage& storage, std::uint64_t round,
                                   TensorLayout const& layout) {
  std::map<std::string, Bytes> files;
  TRY_ASSIGN(auto const names, storage.list(path_of(round)));
  for (auto const& name : names) {
    TRY_ASSIGN(files[name],
               storage.read(path_of(round) + "/" + name, checkpoint_file_bytes_max(layout)));
  }
  return parse_checkpoint(files, layout);
}

}  // namespace

Awaitable<Result<std::optional<Checkpoint>>> Node::State::newest_checkpoint() {
  std::vector<Error> damaged;
  auto read = [this, &damaged](std::stop_token) -> std::optional<Checkpoint> {
    for (auto const number : rounds_on_disk(doors.storage)) {
      auto checkpoint = read_checkpoint(doors.storage, number, layout);
      if (checkpoint && checkpoint->run == manifest->run && checkpoint->round == number)
        return std::move(*checkpoint);
      damaged.emplace_back(
          Errc::checkpoint_corrupt,
          doors.storage.describe(path_of(number)) + ": " +
              (checkpoint ? "of another run or round" : checkpoint.error().message()));
    }
    return std::nullopt;
  };
  auto checkpoint = co_await run_on<std::optional<Checkpoint>>(doors.heavy, read);
  for (auto const& error : damaged) problem(error);
  if (checkpoint) log_info("going on from the checkpoint of round {}", checkpoint->round);
  co_return checkpoint;
}

Awaitable<Result<>> Node::State::write_checkpoint(RoundStart start) {
  checkpoint_running = true;
  Version const version{start.state->round, start.state->hash()};
  auto const round_number = version.round;
  auto write = [this, &start, round_number](std::stop_token) -> Result<> {
    Checkpoint checkpoint;
    checkpoint.run = manifest->run;
    checkpoint.round = round_number;
    checkpoint.tokens_total = start.tokens_total;
    checkpoint.parameters = flatten(start.state->parameters);
    checkpoint.outer_momentum = flatten(start.state->momentum);
    checkpoint.trainer = std::move(start.trainer);
    auto const files =
        checkpoint_files(std::move(checkpoint), layout, to_config_json(manifest->manifest.model));
    std::vector<Storage::File> views;
    for (auto const& file : files) views.push_back({file.name, file.content});
    TRY(doors.storage.write_folder(path_of(round_number), views));
    auto const rounds = rounds_on_disk(doors.storage);
    for (std::size_t i = options.checkpoints_kept; i < rounds.size(); ++i) {
      TRY(doors.storage.remove(path_of(rounds[i])));
    }
    return {};
  };
  auto const written = co_await run_on<Result<>>(doors.heavy, write);
  checkpoint_running = false;
  checkpoint_gate.notify_all();
  if (written) on_disk = version;
  if (written) co_await forget_corrections(version);
  co_return written;
}

// Written while the next round trains; one at a time, a slow disk skips rounds.
void Node::State::checkpoint_if_due() {
  bool const due = options.checkpoint_every > 0 && round_start &&
                   round_start->state->round % options.checkpoint_every == 0;
  if (due && !checkpoint_running) tasks.spawn(write_in_background(*round_start));
}

Awaitable<Result<>> Node::State::checkpoint_now() {
  while (checkpoint_running) co_await checkpoint_gate.wait();
  if (!round_start || closing) co_return fail(Errc::not_found, "no state yet that could be kept");
  if (on_disk == Version{round_start->state->round, round_start->state->hash()})
    co_return Result<>{};
  co_return co_await write_checkpoint(*round_start);
}

Awaitable<> Node::State::write_in_background(RoundStart start) {
  auto const written = co_await write_checkpoint(std::move(start));
  if (!written) problem(written.error());
}

}  // namespace grapevine
