// The outer step of a peer that has a state of its own, and what it still owes after a pair
// exchange whose end it did not learn in time.

#include "grapevine/mix/correction.hpp"
#include "node/node_state_detail.hpp"

#include <algorithm>

namespace grapevine {

namespace {

// What came of a mixing, or what a partner in doubt may have made of it.
struct Arrived {
  MixLane lane = MixLane::gradients;
  std::vector<Blob> results;        // of a butterfly
  std::optional<PairKey> exchange;  // of a pair: …
  PulledSide theirs;                // … the partner's side
};

}  // namespace

Awaitable<ModelStatePtr> Node::State::step_apart(round_action::Apply action) {
  auto const settings = outer_settings();
  auto const& agreed = manifest->manifest;
  auto const own = action.has_gradient ? own_gradient : std::vector<Blob>{};
  std::vector<Arrived> arrived, doubtful;
  for (auto const& one : action.mixed) {
    if (auto const partner = one.partner ? one.partner : one.doubt) {
      PairKey const exchange{action.round, one.lane, *partner};
      auto& list = one.partner ? arrived : doubtful;
      list.push_back({one.lane, {}, exchange, pairing.sides.at(exchange)});
    }
    if (!one.results.empty()) arrived.push_back({one.lane, results_of(one), {}, {}});
  }
  pairing.sides.clear();
  ModelState base = *state;
  base.run = manifest->run;
  std::uint64_t const tokens = contribution_tokens();

  struct Stepped {
    ModelStatePtr next;
    std::vector<PairKey> doubts;  // what is owed for them is on the disk
    Result<> kept;
  };
  auto take = [&](MixedShards& mixed, Arrived const& one) {
    auto const brought = sent_values.find(one.lane);
    if (brought == sent_values.end()) return;  // then nothing that came was mixed with ours
    auto const& mine = brought->second;
    if (!one.exchange)
      return take_in(mixed, one.lane, agreed.shards,
                     moved(one.lane, base, agreed.shards, mine, one.results));
    bool const by_tokens = one.lane == MixLane::gradients;
    WeightedSide const ours{mine, by_tokens ? tokens : 1};
    WeightedSide const theirs{one.theirs.blobs, by_tokens ? one.theirs.tokens : 1};
    bool const low = self < one.exchange->partner;
    auto mean = low ? mean_of(ours, theirs) : mean_of(theirs, ours);
    take_in(mixed, one.lane, agreed.shards,
            moved(one.lane, base, agreed.shards, mine, std::move(mean)));
  };
  auto step = [&](std::stop_token) {
    Stepped stepped;
    MixedShards mixed;
    for (auto const& one : arrived) take(mixed, one);
    stepped.next = step_mixed(base, settings, own, mixed);
    for (auto const& one : doubtful) {
      auto with = mixed;
      take(with, one);
      auto const owed = difference(*step_mixed(base, settings, own, with), *stepped.next);
      stepped.kept = pairing.store->keep_doubt(*one.exchange, owed);
      if (!stepped.kept) break;
      stepped.doubts.push_back(*one.exchange);
    }
    return stepped;
  };
  auto const stepped = co_await run_on<Stepped>(doors.heavy, step);
  if (!stepped.kept) problem(stepped.kept.error());
  if (own.empty())
    for (auto& [exchange, doubt] : pairing.doubts) ++doubt.sat_out;
  for (auto const& exchange : stepped.doubts) pairing.doubts[exchange] = {};
  co_return co_await settled(stepped.next);
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
