// Pulling a state from whoever is at it, and making it ours.

#include "grapevine/base/assert.hpp"
#include "grapevine/base/log.hpp"
#include "node/node_state_detail.hpp"

#include <algorithm>

namespace grapevine {
namespace {

constexpr std::size_t fetches_at_once = 4;
constexpr Duration state_served_time = 5s;
constexpr std::size_t states_served_max = 256;
constexpr std::size_t states_served_bytes_max = 64 << 20;

}  // namespace

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
    stop_fetch.clear();
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
  std::vector<BlobRef> lacking;
  for (auto const* refs : {&descriptor.parameters, &descriptor.momentum})
    for (std::uint32_t i = 0; i < agreed.shards; ++i) {
      auto const& ref = (*refs)[i];
      if (ref.bytes != shard_range(layout.elements(), agreed.shards, i).count * sizeof(float))
        co_return fail(Errc::schema_mismatch, "a state with shards of another size");
      if (!here.contains(ref)) lacking.push_back(ref);
    }
  std::function<Result<>(BlobRef const&, Blob const&)> const arrived =
      [&](BlobRef const& ref, Blob const& blob) -> Result<> {
    // Two pulls at once would undo each other: the one that nobody waits for any more ends.
    if (!still_wanted()) return fail(Errc::cancelled, "another state is wanted by now");
    unfinished.shards[ref] = here[ref] = blob;
    return {};
  };
  CO_TRY(co_await fetch_all(lacking, holders, deadline, arrived));
  auto blobs_of = [&here](std::vector<BlobRef> const& refs) {
    std::vector<Blob> found;
    for (auto const& ref : refs) found.push_back(here.at(ref));
    return found;
  };
  auto const parameters = blobs_of(descriptor.parameters);
  auto const momentum = blobs_of(descriptor.momentum);
  auto assemble = [this, &descriptor, &parameters, &momentum](std::stop_token) {
    return assemble_state(descriptor, parameters, momentum, layout.elements());
  };
  CO_TRY_ASSIGN(auto assembled, co_await run_on<Result<ModelStatePtr>>(doors.heavy, assemble));
  if (assembled->hash() != version.state)
    co_return fail(Errc::hash_mismatch, "a state that does not encode to its own hash");
  unfinished = {};
  co_return assembled;
}

// A few at once, so that a long way costs its delay a few times and not once for each.
Awaitable<Result<>> Node::State::fetch_all(
    std::vector<BlobRef> refs, std::vector<PeerId> holders, Instant deadline,
    std::function<Result<>(BlobRef const&, Blob const&)> arrived) {
  Fetches fetches{std::move(refs), std::move(holders), deadline, std::move(arrived)};
  std::function<Awaitable<>(TaskGroup&)> const body = [&](TaskGroup& group) {
    return run_fetches(fetches, group);
  };
  co_await with_tasks(body);
  co_return fetches.outcome;
}

Awaitable<> Node::State::run_fetches(Fetches& fetches, TaskGroup& group) {
  for (std::size_t i = 0; i < fetches_at_once; ++i) group.spawn(fetch_one_by_one(fetches));
  while (fetches.outcome && fetches.here < fetches.refs.size()) co_await fetches.changed.wait();
}

Awaitable<> Node::State::fetch_one_by_one(Fetches& fetches) {
  while (fetches.outcome && fetches.begun < fetches.refs.size()) {
    auto const ref = fetches.refs[fetches.begun++];
    auto const got = co_await blobs->fetch(ref, fetches.holders, fetches.deadline);
    auto taken = got ? fetches.arrived(ref, got->blob) : Result<>(tl::unexpected(got.error()));
    if (!taken) fetches.outcome = std::move(taken);
    ++fetches.here;
    fetches.changed.notify_all();
  }
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

// Rounds may be shorter than a newcomer's pull: small states stay served for a few seconds.
void Node::State::release_states_before() {
  if (states_before.empty()) return;
  auto const bytes = 2 * layout.elements() * sizeof(float);
  auto const at_most = std::min<std::size_t>(states_served_max, states_served_bytes_max / bytes);
  auto const too_old = doors.clock.now() - state_served_time;
  while (!states_before.empty() &&
         (states_before.size() > at_most || states_before.front().replaced <= too_old)) {
    release(*states_before.front().state);
    states_before.pop_front();
  }
}

// Whoever was one round behind has had a round for it. Called before the next state is made, so
// that three large ones are never held at once.
void Node::State::release_round_before() {
  release_states_before();
  for (auto const& blob : std::exchange(kept_gradients_before, {})) blobs->release(blob);
}

// `next` becomes the state that is shown and served; the one before stays served for a round.
Awaitable<Result<>> Node::State::adopt_state(ModelStatePtr next) {
  release_states_before();
  keep(*next);
  if (state != nullptr) states_before.push_back({state, doors.clock.now()});
  state = std::move(next);
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
