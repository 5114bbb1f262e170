// What a round was: a signed line in the ledger for each mixing, and the figures for people.

#include "grapevine/base/limits.hpp"
#include "grapevine/base/log.hpp"
#include "grapevine/wire/text.hpp"
#include "node/node_state_detail.hpp"

#include <algorithm>

namespace grapevine {
namespace {

// Whose mixing a person asks about: that of outer gradients, which every run has.
round_action::Mixed const& last_of(round_action::Apply const& action) {
  auto const is_last = [](auto const& mixed) { return mixed.lane != MixLane::parameters; };
  return *std::ranges::find_if(action.mixed, is_last);
}

std::uint32_t shards_missed(round_action::Mixed const& mixed) {
  auto const is_missed = [](auto const& result) { return !result.has_value(); };
  return static_cast<std::uint32_t>(std::ranges::count_if(mixed.results, is_missed));
}

}  // namespace

Awaitable<> Node::State::record(round_action::Apply action, Hash before, Hash after) {
  Instant const now = doors.clock.now();
  last_round.duration_s = to_seconds(now - round_began);
  last_round.compute_s = to_seconds(compute);
  last_round.blocked_s = std::max(0.0, last_round.duration_s - last_round.compute_s);
  for (auto const& mixed : action.mixed) show_mix(mixed);
  last_consensus = co_await consensus_of(action);
  std::vector<Bytes> entries;
  Hash before_it = ledger_head.hash;
  for (auto const& mixed : action.mixed) {
    LedgerEntry entry = entry_of(action.round, mixed);
    entry.before = before;
    entry.after = after;
    entry.previous = before_it;
    if (mixed.lane == probe_lane() && last_consensus.js)
      entry.js = static_cast<float>(*last_consensus.js);
    entries.push_back(sign_ledger_entry(entry, *identity));
    before_it = sha256(entries.back());
  }
  auto const figures = figures_of(action);
  auto const& last = last_of(action);
  log_info("round {} done: loss {:.4f}, {} peers, {} missing{}", action.round,
           round_loss.value_or(0), last.inputs.size(), last.missing.size(),
           last.missing.empty() ? ""
                                : " (" + last.missing.front().peer.brief() + ": " +
                                      last.missing.front().reason + ")");
  auto write = [this, &entries, &figures](std::stop_token) -> Result<Ledger::Head> {
    TRY(ledger->append(figures.round, entries, figures));
    return ledger->head();
  };
  auto const head = co_await run_on<Result<Ledger::Head>>(doors.heavy, write);
  if (head)
    ledger_head = *head;
  else
    problem(head.error());
}

void Node::State::show_mix(round_action::Mixed const& mixed) {
  bool const first = mixed.lane == MixLane::parameters;
  bool const only = manifest->manifest.mixing.pattern_of(MixLane::parameters) == MixPattern::none;
  Instant const now = doors.clock.now();
  auto& shown = first ? last_mix1 : last_mix2;
  shown = {};
  shown.state = "done";
  for (auto const& input : mixed.inputs) shown.participants.push_back(input.peer);
  for (auto const& missing : mixed.missing) shown.missing.push_back({missing.peer, missing.reason});
  // Early contributions travel before the inner steps are done.
  auto const from = first || only ? counters_at_round : counters_at_mix2;
  auto const to = first ? counters_at_mix2 : host->counters();
  shown.bytes_in = to.bytes_in - std::min(from.bytes_in, to.bytes_in);
  shown.bytes_out = to.bytes_out - std::min(from.bytes_out, to.bytes_out);
  shown.duration_s = to_seconds(first ? mixed.closed - round_began : now - mix_began);
}

LedgerEntry Node::State::entry_of(std::uint64_t of_round, round_action::Mixed const& mixed) const {
  LedgerEntry entry;
  entry.run = manifest->run;
  entry.round = of_round;
  entry.lane = mixed.lane;
  entry.mix = mixed.pattern;
  // Weighting parameters by tokens would move the mean of the swarm.
  bool const by_tokens = mixed.lane == MixLane::gradients;
  double total = 0;
  for (auto const& input : mixed.inputs)
    total += by_tokens ? static_cast<double>(input.tokens) : 1.0;
  for (auto const& input : mixed.inputs) {
    auto const known = contribution_hashes.find({of_round, mixed.lane, input.peer});
    auto const hash = known == contribution_hashes.end() ? Hash{} : known->second;
    double const weight = (by_tokens ? static_cast<double>(input.tokens) : 1.0) / total;
    entry.inputs.push_back({input.peer, hash, input.tokens, weight, input.norm, input.shards});
  }
  for (auto const& missing : mixed.missing)
    entry.missing.push_back({missing.peer, printable_utf8(missing.reason, limits::reason_max)});
  entry.shards_missed = shards_missed(mixed);
  return entry;
}

RoundRecord Node::State::figures_of(round_action::Apply const& action) const {
  auto const& last = last_of(action);
  RoundRecord figures;
  figures.round = action.round;
  figures.at_unix_s = static_cast<double>(doors.clock.unix_ns()) * 1e-9;
  figures.duration_s = last_round.duration_s;
  figures.compute_s = last_round.compute_s;
  figures.loss = round_loss;
  figures.eval_loss = eval_loss;
  figures.consensus = last_consensus;
  figures.participants = static_cast<std::uint32_t>(last.inputs.size());
  figures.missing = static_cast<std::uint32_t>(last.missing.size());
  figures.shards_missed = shards_missed(last);
  auto const counters = host->counters();
  figures.bytes_in = counters.bytes_in - counters_at_round.bytes_in;
  figures.bytes_out = counters.bytes_out - counters_at_round.bytes_out;
  return figures;
}

}  // namespace grapevine
