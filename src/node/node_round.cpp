// Performing what the round machine asks for. Each action that takes time is a task of its own; its
// end is an event. Nothing here decides.

#include "grapevine/base/assert.hpp"
#include "grapevine/base/log.hpp"
#include "grapevine/mix/average.hpp"
#include "node/node_state_detail.hpp"

#include <algorithm>
#include <cmath>

namespace grapevine {
namespace {

// The trainer is given slices of about this long, so that it can be interrupted and watched.
constexpr double slice_s = 0.4;
constexpr double rate_memory = 0.7;  // of the smoothed step rate

double smoothed(double before, double now) {
  return before > 0 ? rate_memory * before + (1 - rate_memory) * now : now;
}

}  // namespace

void Node::State::feed(RoundEvent event) {
  if (closing) return;  // tasks have been told to end: none may be started any more
  events.push_back(std::move(event));
  if (feeding) return;  // an action fed it: the loop below comes to it
  feeding = true;
  auto const phase_before = round->phase();
  while (!events.empty()) {
    auto const next = std::move(events.front());
    events.pop_front();
    for (auto const& action : round->on(next, doors.clock.now()))
      std::visit([this](auto const& a) { perform(a); }, action);
  }
  feeding = false;
  if (round->phase() != phase_before) changed();
}

void Node::State::perform(round_action::StartInner const& action) {
  inner_done = 0;
  round_loss.reset();
  compute = {};
  round_began = mix_began = doors.clock.now();
  counters_at_round = counters_at_mix2 = host->counters();
  if (!action.again) {
    bool const replaced = std::exchange(pairing.state_replaced, false);
    if (replaced) forget_doubts();
    feed_pairs(pair_event::Began{round->version().round, replaced});
  }
  tasks.spawn(inner(++inner_generation, action.first_step, action.steps));
}

void Node::State::perform(round_action::StopInner const&) { ++inner_generation; }

Awaitable<> Node::State::inner(std::uint64_t generation, std::uint64_t first_step,
                               std::uint32_t steps) {
  Instant const begun = doors.clock.now();
  double loss_sum = 0;
  while (inner_done < steps) {
    auto const slice = static_cast<std::uint32_t>(std::clamp(
        std::floor(steps_per_s * slice_s), 1.0, static_cast<double>(steps - inner_done)));
    InnerJob const job{first_step + inner_done, slice};
    auto train = [this, job](std::stop_token stop) { return trainer->run(job, stop, {}); };
    auto const report = co_await run_on<Result<InnerReport>>(doors.train, train);
    if (!report) {
      problem(report.error());
      if (generation == inner_generation) feed(round_event::InnerFailed{});
      co_return;
    }
    // What was trained counts, even when the machine has stopped waiting for it.
    round_tokens += report->tokens;
    round_steps += report->steps;
    tokens_total += report->tokens;
    compute += from_seconds(report->seconds);
    if (generation != inner_generation) co_return;
    inner_done += report->steps;
    loss_sum += static_cast<double>(report->loss) * report->steps;
    loss = report->loss;
    lr = report->lr;
    if (report->seconds > 0) {
      steps_per_s = smoothed(steps_per_s, report->steps / report->seconds);
      tokens_per_s = smoothed(tokens_per_s, static_cast<double>(report->tokens) / report->seconds);
    }
  }
  round_loss = static_cast<float>(loss_sum / steps);
  feed(round_event::InnerDone{steps, doors.clock.now() - begun});
}

void Node::State::perform(round_action::Prepare const& action) {
  if (action.lane == MixLane::parameters) return bring_parameters(action);
  tasks.spawn(prepare(action));
}

// The state that the round began with is hashed and served already.
void Node::State::bring_parameters(round_action::Prepare const& action) {
  Contribution contribution;
  contribution.run = manifest->run;
  contribution.round = action.round;
  contribution.lane = MixLane::parameters;
  contribution.base = action.base;
  contribution.tokens = 1;
  auto const bring = [&](std::vector<HashedBlob> const& shards) {
    for (auto const& shard : shards) {
      contribution.shards.push_back(shard.ref);
      round_blobs[shard.ref] = shard.blob;
    }
  };
  bring(state->parameters);
  if (manifest->manifest.mixing.mix1_momentum) bring(state->momentum);
  feed(round_event::Prepared{std::move(contribution)});
}

Awaitable<> Node::State::prepare(round_action::Prepare action) {
  mix_began = doors.clock.now();
  counters_at_mix2 = host->counters();
  auto read = [this](std::stop_token) {
    std::vector<float> theta(layout.elements());
    trainer->read(theta);
    return theta;
  };
  auto const theta = co_await run_on<std::vector<float>>(doors.train, read);
  auto subtract = [this, &theta](std::stop_token) {
    return outer_gradient(*inner_start, theta, manifest->manifest.shards);
  };
  auto gradient = co_await run_on<Result<OuterGradient>>(doors.heavy, subtract);
  if (!gradient) {
    problem(gradient.error());
    feed(round_event::InnerFailed{});
    co_return;
  }
  Contribution contribution;
  contribution.run = manifest->run;
  contribution.round = action.round;
  contribution.base = action.base;
  contribution.tokens = contribution_tokens();
  contribution.steps = round_steps;
  if (!round_loss) round_loss = loss;  // ended before its last step
  contribution.loss = *round_loss;
  contribution.norm = static_cast<float>(gradient->norm);
  for (auto& shard : gradient->shards) {
    contribution.shards.push_back(shard.ref);
    kept_gradients.push_back(shard.ref);
    round_blobs[shard.ref] = shard.blob;
    blobs->keep_as(shard.ref, std::move(shard.leaves), shard.blob);
  }
  feed(round_event::Prepared{std::move(contribution)});
}

void Node::State::perform(round_action::Publish const& action) {
  announced.push_back(action.announcement);
  if (auto const* const mine = std::get_if<Contribution>(&action.announcement))
    contribution_hashes[{mine->round, mine->lane, self}] =
        sha256(sign_announcement(action.announcement, *identity));
  announce(action.announcement);
}

void Node::State::perform(round_action::Fetch const& action) { tasks.spawn(fetch(action)); }

Awaitable<> Node::State::fetch(round_action::Fetch action) {
  auto const fetched = co_await blobs->fetch(action.blob, action.holders, action.deadline);
  std::string failure;
  if (!fetched) {
    failure = fetched.error().message();
  } else {
    auto const blob = fetched->blob;
    auto finite = [&blob](std::stop_token) {
      return blob->size() % sizeof(float) == 0 && all_finite(floats_of(*blob));
    };
    if (co_await run_on<bool>(doors.heavy, finite))
      round_blobs[action.blob] = blob;
    else
      failure = Error(Errc::not_finite, "in a shard that was pulled").message();
  }
  feed(round_event::Fetched{action.blob, std::move(failure)});
}

void Node::State::perform(round_action::Average const& action) { tasks.spawn(average(action)); }

Awaitable<> Node::State::average(round_action::Average action) {
  auto const bytes = shard_bytes(action.lane)[action.shard];
  std::vector<ShardInput> inputs;
  for (auto const& input : action.inputs) {
    auto const found = round_blobs.find(BlobRef{input.root, bytes});
    ASSERT(found != round_blobs.end());
    inputs.push_back({found->second, input.tokens});
  }
  auto mix = [&inputs](std::stop_token) { return average_shard(inputs); };
  auto result = co_await run_on<HashedBlob>(doors.heavy, mix);
  if (round->version().round == action.round) {
    round_blobs[result.ref] = result.blob;
    kept_gradients.push_back(result.ref);
    blobs->keep_as(result.ref, std::move(result.leaves), result.blob);
  }
  feed(round_event::Averaged{action.lane, action.round, action.shard, result.ref, {}});
}

void Node::State::perform(round_action::Apply const& action) { tasks.spawn(apply(action)); }

std::vector<Blob> Node::State::results_of(round_action::Mixed const& mixed) const {
  std::vector<Blob> results;
  for (auto const& result : mixed.results)
    results.push_back(result ? round_blobs.at(*result) : nullptr);
  return results;
}

OuterSettings Node::State::outer_settings() const {
  auto const& outer = manifest->manifest.outer;
  return {outer.lr, outer.momentum, outer.nesterov};
}

Awaitable<ModelStatePtr> Node::State::step_together(round_action::Apply action) {
  auto const results = results_of(action.mixed.front());
  auto const settings = outer_settings();
  ModelStatePtr const base = state;
  auto step = [this, &base, &settings, &results](std::stop_token) {
    auto next = std::make_shared<ModelState>(*base);
    next->run = manifest->run;
    return apply_results(*next, settings, results);
  };
  co_return co_await run_on<ModelStatePtr>(doors.heavy, step);
}

Awaitable<> Node::State::apply(round_action::Apply action) {
  release_round_before();
  ModelStatePtr const base = state;
  ModelStatePtr next;
  if (manifest->manifest.mixing.one_state())
    next = co_await step_together(action);
  else
    next = co_await step_apart(action);
  auto adopted = co_await adopt_state(next);
  if (adopted) adopted = co_await set_trainer(next, action.keep_progress);
  if (!adopted) problem(adopted.error());
  if (options.evaluate) {
    auto evaluate = [this](std::stop_token stop) { return trainer->evaluate(stop); };
    auto const report = co_await run_on<Result<EvalReport>>(doors.train, evaluate);
    if (report)
      eval_loss = report->loss;
    else
      problem(report.error());
  }
  co_await record(action, base->hash(), next->hash());
  checkpoint_if_due();
  round_blobs.clear();
  kept_gradients_before = std::exchange(kept_gradients, {});
  announced_before = std::exchange(announced, {});
  contribution_hashes.erase(contribution_hashes.begin(),
                            contribution_hashes.lower_bound({next->round, MixLane{}, PeerId{}}));
  feed(round_event::Applied{{next->round, next->hash()}});
}

void Node::State::perform(round_action::Sync const& action) { tasks.spawn(sync(action)); }

void Node::State::perform(round_action::BeaconNow const&) { send_beacon(); }

void Node::State::perform(round_action::Finished const&) {
  finished = true;
  tasks.spawn(settle_at_the_end());  // what was told during the last outer step
  log_info("the run is complete: {} rounds", round->version().round);
  stop_gate.notify_all();
}

}  // namespace grapevine
