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

void Node::State::perform(round_action::Publish const& action) {
  announced.push_back(action.announcement);
  if (auto const* const mine = std::get_if<Contribution>(&action.announcement))
    contribution_hashes[{mine->round, mine->lane, self}] =
        sha256(sign_announcement(action.announcement, *identity));
  announce(action.announcement);
}

void Node::State::perform(round_action::Fetch const& action) {
  auto& stop = stop_fetch[action.what];
  if (stop == nullptr) stop = std::make_shared<Gate>();
  tasks.spawn(fetch(action, stop));
}

Awaitable<> Node::State::fetch(round_action::Fetch action, std::shared_ptr<Gate> stop) {
  auto const known = stop_fetch.find(action.what);
  if (known == stop_fetch.end() || known->second != stop) co_return;  // stopped before it began
  auto const values = co_await unless_told(stop, fetch_shard(action));
  if (!values) co_return;
  if (*values) round_blobs[action.what] = **values;
  feed(round_event::Fetched{action.what, *values ? "" : values->error().message()});
}

void Node::State::perform(round_action::StopFetch const& action) {
  auto const found = stop_fetch.extract(action.what);
  if (!found.empty()) found.mapped()->notify_all();
}

// A result is served from then on, for those who cannot reach its reducer.
Awaitable<Result<Blob>> Node::State::fetch_shard(round_action::Fetch action) {
  auto const& what = action.what;
  CO_TRY_ASSIGN(auto const fetched,
                co_await blobs->fetch(what.blob, action.holders, action.deadline));
  auto const shape = shape_of(what);
  auto decode = [&fetched, &action, shape](std::stop_token) -> Result<Blob> {
    TRY_ASSIGN(auto values, decode_shard(shape.codec, fetched.blob, shape.elements));
    if (action.norm_max) {
      TRY(check_norm(*values, *action.norm_max));
    }
    return values;
  };
  CO_TRY_ASSIGN(auto const values, co_await run_on<Result<Blob>>(doors.heavy, decode));
  if (what.result) {
    kept_gradients.push_back(what.blob);
    blobs->keep_as(what.blob, fetched.leaves, fetched.blob);
  }
  co_return values;
}

void Node::State::perform(round_action::Average const& action) { tasks.spawn(average(action)); }

Awaitable<> Node::State::average(round_action::Average action) {
  auto const shape = shapes(action.lane)[action.shard];
  std::vector<ShardInput> inputs;
  for (auto const& input : action.inputs) {
    BlobRef const ref{input.root, shape.bytes()};
    auto const found = round_blobs.find({action.lane, action.shard, false, ref});
    ASSERT(found != round_blobs.end());
    inputs.push_back({found->second, input.tokens});
  }
  auto const codec = manifest->manifest.mixing.result_codec(action.lane);
  auto mix = [&inputs, codec](std::stop_token) {
    return encode_shard(codec, average_shard(inputs));
  };
  auto result = co_await run_on<Result<SentShard>>(doors.heavy, mix);
  round_event::Averaged averaged{action.lane, action.round, action.shard, {}, {}};
  if (!result) {
    averaged.failure = result.error().message();
  } else if (round->version().round == action.round) {
    auto& served = result->served;
    averaged.result = served.ref;
    round_blobs[{action.lane, action.shard, true, served.ref}] = std::move(result->values);
    kept_gradients.push_back(served.ref);
    blobs->keep_as(served.ref, std::move(served.leaves), served.blob);
  }
  feed(std::move(averaged));
}

void Node::State::perform(round_action::Apply const& action) { tasks.spawn(apply(action)); }

std::vector<Blob> Node::State::results_of(round_action::Mixed const& mixed) const {
  std::vector<Blob> results;
  for (std::uint32_t i = 0; i < mixed.results.size(); ++i) {
    auto const& result = mixed.results[i];
    results.push_back(result ? round_blobs.at({mixed.lane, i, true, *result}) : nullptr);
  }
  return results;
}

OuterSettings Node::State::outer_settings() const {
  auto const& outer = manifest->manifest.outer;
  return {outer.lr, outer.momentum, outer.nesterov, outer.pull};
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
  co_await settle_feedback(action);
  auto adopted = co_await adopt_state(next);
  if (adopted) adopted = co_await set_trainer(next, action.keep_progress);
  if (!adopted) problem(adopted.error());
  if (options.evaluate) {
    auto evaluate = [this](std::stop_token stop) { return trainer->evaluate(stop); };
    auto const report = co_await run_on<Result<EvalReport>>(doors.train, evaluate);
    if (report)
      eval_loss = report->loss;
    else if (report.error().errc() != Errc::cancelled)  // by a stop
      problem(report.error());
  }
  co_await record(action, base->hash(), next->hash());
  checkpoint_if_due();
  round_blobs.clear();
  stop_fetch.clear();
  sent_values.clear();
  own_gradient.clear();
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
