// Pulling a state from whoever is at it, and making it ours.

#include "grapevine/base/assert.hpp"
#include "grapevine/base/log.hpp"
#include "node/node_state_detail.hpp"

namespace grapevine {

Awaitable<> Node::State::sync(round_action::Sync action) {
  log_info("{} the state of round {} from {} peers",
           action.background ? "this peer's state differs: pulling" : "behind: pulling",
           action.version.round, action.holders.size());
  std::function<bool()> const wanted = [this, &action] { return round->awaits(action.version); };
  auto pulled = co_await pull_state(action.version, action.holders, wanted);
  if (!wanted()) co_return;
  Result<> done;
  if (!pulled) {
    done = tl::unexpected(pulled.error());
  } else {
    done = co_await adopt_state(*pulled);
    // In the background training goes on from where it began: the outer gradient is the same
    // difference, taken from another starting point.
    if (done && !action.background) done = co_await set_trainer(*pulled, true);
    pairing.state_replaced |= done.has_value();
  }
  if (!done) {
    problem(done.error());
    feed(round_event::SyncFailed{action.version, done.error().message()});
    co_return;
  }
  if (!action.background) {
    announced.clear();
    announced_before.clear();
    round_blobs.clear();
  }
  feed(round_event::Synced{action.version});
}

// The descriptor first (it is named by the version's hash), then the shards that are not here
// already: in the state we are at, or from a try that failed half-way.
Awaitable<Result<ModelStatePtr>> Node::State::pull_state(Version version,
                                                         std::vector<PeerId> holders,
                                                         std::function<bool()> still_wanted) {
  Instant const deadline = doors.clock.now() + from_seconds(manifest->manifest.deadline_s_max);
  CO_TRY_ASSIGN(auto const fetched, co_await blobs->fetch({version.state, 0}, holders, deadline));
  CO_TRY_ASSIGN(auto const descriptor, decode_state(*fetched.blob));
  auto const& agreed = manifest->manifest;
  bool const fits = descriptor.round == version.round &&
                    descriptor.parameters.size() == agreed.shards &&
                    descriptor.momentum.size() == agreed.shards &&
                    (descriptor.run == manifest->run || version.state == agreed.initial_state);
  if (!fits) co_return fail(Errc::schema_mismatch, "the state of another run or round");
  if (unfinished.version != version) unfinished = {version, {}};
  std::map<BlobRef, Blob> here = unfinished.shards;
  if (state != nullptr)
    for (auto const* shards : {&state->parameters, &state->momentum})
      for (auto const& shard : *shards) here[shard.ref] = shard.blob;
  std::vector<Blob> pulled;
  for (auto const* refs : {&descriptor.parameters, &descriptor.momentum})
    for (std::uint32_t i = 0; i < agreed.shards; ++i) {
      auto const& ref = (*refs)[i];
      if (ref.bytes != shard_range(layout.elements(), agreed.shards, i).count * sizeof(float))
        co_return fail(Errc::schema_mismatch, "a state with shards of another size");
      auto& blob = here[ref];
      if (blob == nullptr) {
        // Two pulls at once would undo each other: the one that nobody waits for any more ends.
        if (!still_wanted()) co_return fail(Errc::cancelled, "another state is wanted by now");
        CO_TRY_ASSIGN(auto const shard, co_await blobs->fetch(ref, holders, deadline));
        unfinished.shards[ref] = blob = shard.blob;
      }
      pulled.push_back(blob);
    }
  std::vector<Blob> parameters(pulled.begin(), pulled.begin() + agreed.shards);
  std::vector<Blob> momentum(pulled.begin() + agreed.shards, pulled.end());
  auto assemble = [this, &descriptor, &parameters, &momentum](std::stop_token) {
    return assemble_state(descriptor, parameters, momentum, layout.elements());
  };
  CO_TRY_ASSIGN(auto assembled, co_await run_on<Result<ModelStatePtr>>(doors.heavy, assemble));
  if (assembled->hash() != version.state)
    co_return fail(Errc::hash_mismatch, "a state that does not encode to its own hash");
  unfinished = {};
  co_return assembled;
}

void Node::State::keep(ModelState const& kept) {
  for (auto const* shards : {&kept.parameters, &kept.momentum})
    for (auto const& shard : *shards) blobs->keep_as(shard.ref, shard.leaves, shard.blob);
  blobs->keep_as(kept.descriptor.ref, kept.descriptor.leaves, kept.descriptor.blob);
}

void Node::State::release(ModelState const& kept) {
  for (auto const* shards : {&kept.parameters, &kept.momentum})
    for (auto const& shard : *shards) blobs->release(shard.ref);
  blobs->release(kept.descriptor.ref);
}

// `next` becomes the state that is shown and served; the one before stays served for a round.
Awaitable<Result<>> Node::State::adopt_state(ModelStatePtr next) {
  keep(*next);
  if (previous != nullptr) release(*previous);
  previous = std::exchange(state, std::move(next));
  co_return Result<>{};
}

// The trainer goes on from `next`: afresh, or with what it has learned since its start on top.
Awaitable<Result<>> Node::State::set_trainer(ModelStatePtr next, bool keep_progress) {
  std::shared_ptr<std::vector<float> const> flat;
  auto write = [this, &flat, &next, keep_progress](std::stop_token) -> Result<TrainerState> {
    flat = std::make_shared<std::vector<float> const>(flatten(next->parameters));
    if (!keep_progress || inner_start == nullptr) {
      TRY(trainer->write(*flat));
      return trainer->save();
    }
    std::vector<float> theta(layout.elements());
    trainer->read(theta);
    for (std::size_t i = 0; i < theta.size(); ++i)
      theta[i] = (*flat)[i] + (theta[i] - (*inner_start)[i]);
    TRY(trainer->write(theta));
    return trainer->save();
  };
  CO_TRY_ASSIGN(auto saved, co_await run_on<Result<TrainerState>>(doors.train, write));
  inner_start = flat;
  if (!keep_progress) {
    round_tokens = 0;
    round_steps = 0;
  }
  round_start = RoundStart{std::move(next), std::move(saved), tokens_total};
  co_return Result<>{};
}

}  // namespace grapevine
