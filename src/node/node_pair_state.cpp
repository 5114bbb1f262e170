// The outer step of a peer that has a state of its own, and what it still owes after a pair
// exchange whose end it did not learn in time.

#include "grapevine/mix/pair_correction.hpp"
#include "node/node_state_detail.hpp"

#include <algorithm>

namespace grapevine {

Awaitable<ModelStatePtr> Node::State::step_apart(round_action::Apply action) {
  auto const settings = outer_settings();
  auto const gradients = results_of(action);
  ModelStatePtr const base = state;
  PairSide mine;
  mine.gradients = gradients;
  for (auto const& shard : base->parameters) mine.parameters.push_back(shard.blob);
  auto const other = action.pair->partner ? action.pair->partner : action.pair->doubt;
  PairSide theirs;
  if (other) theirs = pairing.sides.at({action.round, *other}).side;
  pairing.sides.clear();
  bool const low = other && self < *other;
  PairSides const sides{low ? mine : theirs, low ? theirs : mine};

  auto step = [&](std::stop_token) -> ModelStatePtr {
    auto from = *base;
    from.run = manifest->run;
    // What would take the state out of the range of a float is worth no more than a lost partner.
    if (action.pair->partner)
      if (auto together = apply_pair(from, settings, sides)) return together;
    return apply_results(from, settings, gradients);
  };
  auto const next = co_await run_on<ModelStatePtr>(doors.heavy, step);
  if (action.inputs.empty())
    for (auto& [exchange, doubt] : pairing.doubts) ++doubt.sat_out;
  if (action.pair->doubt) {
    PairKey const exchange{action.round, *action.pair->doubt};
    auto keep_it = [&](std::stop_token) {
      auto const correction = correction_of(*base, settings, gradients, sides);
      return pairing.store->keep_doubt(exchange, correction);
    };
    auto const kept = co_await run_on<Result<>>(doors.heavy, keep_it);
    if (!kept) problem(kept.error());
    if (kept) pairing.doubts[exchange] = {};
  }
  co_return co_await settled(next);
}

// `next` with what is owed for the exchanges that were in doubt and have turned out committed.
Awaitable<ModelStatePtr> Node::State::settled(ModelStatePtr next) {
  auto const verdicts = std::exchange(pairing.settled, {});
  if (pairing.doubts.empty()) co_return next;
  auto const settings = outer_settings();
  auto doubts = pairing.doubts;
  auto work = [&](std::stop_token) -> Result<ModelStatePtr> {
    auto sum = next;
    std::vector<PairKey> made_good;
    for (auto const& [exchange, committed] : verdicts) {
      auto const known = doubts.find(exchange);
      if (known == doubts.end() || known->second.applied) continue;
      if (!committed) {
        TRY(pairing.store->forget_doubt(exchange));
        doubts.erase(known);
        continue;
      }
      TRY_ASSIGN(auto correction, pairing.store->correction(exchange, layout.elements()));
      if (correction.parameters.size() != layout.elements())
        return fail(Errc::schema_mismatch, "a correction of another size");
      auto const steps = next->round - exchange.round - 1 - known->second.sat_out;
      age_correction(settings, steps, correction.parameters, correction.momentum);
      if (auto next_sum = corrected(*sum, correction); all_finite(*next_sum)) sum = next_sum;
      made_good.push_back(exchange);
    }
    for (auto const& exchange : made_good)
      doubts.at(exchange).applied = Version{sum->round, sum->hash()};
    for (auto const& [exchange, doubt] : doubts) {
      TRY(pairing.store->update_doubt(exchange, doubt));
    }
    return sum;
  };
  auto const done = co_await run_on<Result<ModelStatePtr>>(doors.heavy, work);
  if (!done) {
    problem(done.error());
    co_return next;
  }
  pairing.doubts = std::move(doubts);
  co_return *done;
}

// After the last round no outer step is to come: the correction makes a state by itself. One task
// at a time: each starts from the state that the one before has made.
Awaitable<> Node::State::settle_at_the_end() {
  if (std::exchange(pairing.settling, true)) co_return;
  while (!pairing.settled.empty()) {
    ModelStatePtr const before = state;
    auto const next = co_await settled(before);
    if (next == before) continue;
    auto adopted = co_await adopt_state(next);
    if (adopted) adopted = co_await set_trainer(next, false);
    if (!adopted) problem(adopted.error());
  }
  pairing.settling = false;
}

// An exchange is open as long as its end is not in the state that is ours.
bool Node::State::in_doubt() const {
  auto const open = [](auto const& doubt) { return !doubt.second.applied.has_value(); };
  return pairing.settling || std::ranges::any_of(pairing.doubts, open);
}

// What was owed about a state that is ours no more is owed no more.
void Node::State::forget_doubts() {
  for (auto const& [exchange, doubt] : pairing.doubts) pairing.settled[exchange] = false;
}

// `checkpoint` is durable: the corrections in it need not be kept apart.
Awaitable<> Node::State::forget_corrections(Version checkpoint) {
  std::vector<PairKey> kept;
  for (auto const& [exchange, doubt] : pairing.doubts)
    if (doubt.is_in(checkpoint)) kept.push_back(exchange);
  if (kept.empty()) co_return;
  auto forget = [this, &kept](std::stop_token) -> Result<> {
    for (auto const& exchange : kept) {
      TRY(pairing.store->forget_doubt(exchange));
    }
    return {};
  };
  auto const done = co_await run_on<Result<>>(doors.heavy, forget);
  if (!done) problem(done.error());
  for (auto const& exchange : kept) pairing.doubts.erase(exchange);
}

}  // namespace grapevine
