#include "world/checkers_detail.hpp"

#include "world/replay_detail.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace grapevine::world {
namespace {

// Of a parameter: the reference model trains within one digit, and an honest average of honest
// peers stays there.
constexpr double parameter_max = 1e4;

using Inputs = std::vector<LedgerEntry::Input>;

bool was_doubted(LedgerEntry const& entry) {
  return std::ranges::any_of(entry.missing, [](auto const& missing) {
    return missing.reason == "did not say whether it committed";
  });
}

bool whole(LedgerEntry const& entry, std::uint32_t shards) {
  return entry.shards_missed == 0 &&
         std::ranges::all_of(entry.inputs, [&](auto const& in) { return in.shards == shards; });
}

}  // namespace

void Checkers::blame(std::string fault) {
  if (fault_.empty()) fault_ = std::move(fault);
}

bool Checkers::after_event() {
  for (std::size_t machine = 0; machine < options_.peers; ++machine) {
    if (!swarm_.world.running(machine)) {
      seen_.erase(machine);
      has_crashed_.insert(machine);
      continue;
    }
    if (swarm_.node(machine).state_hash() != seen_[machine].state) look_at(machine);
  }
  return fault_.empty();
}

void Checkers::look() {
  for (std::size_t machine = 0; machine < options_.peers; ++machine)
    if (swarm_.world.running(machine)) look_at(machine);
}

void Checkers::look_at(std::size_t machine) {
  auto const shown = swarm_.node(machine).snapshot();
  auto const state = swarm_.node(machine).state_hash();
  auto& seen = seen_[machine];
  if (shown.uptime_s < seen.uptime_s) {  // started again meanwhile
    has_crashed_.insert(machine);
    seen = {};
  }
  if (shown.round.current < seen.round)
    blame(fmt::format("peer {} went from round {} back to {}", machine, seen.round,
                      shown.round.current));
  for (auto const& [name, queue] : shown.queues)
    if (queue.length > queue.max)
      blame(fmt::format("peer {}: {} in the queue {}", machine, queue.length, name));
  auto const& record = swarm_.trained.at(machine);
  if (!record.fault.empty()) blame(fmt::format("peer {}: {}", machine, record.fault));
  if (record.largest > parameter_max)
    blame(fmt::format("peer {} trains from a parameter of {:g}", machine, record.largest));
  if (state != seen.state) check_state(machine, shown, state);
  seen = {shown.uptime_s, shown.round.current, state};
}

// A state is taken over from others or from the disk only if a peer has made it. The first is the
// run's own.
void Checkers::check_state(std::size_t machine, Snapshot const& shown, Hash const& state) {
  bool const makes_it = shown.round.phase == "applying" ||
                        (options_.mixing.has(MixPattern::pair) && shown.round.phase == "finished");
  bool const initial = shown.run && state == shown.run->initial_state;
  if (makes_it || initial) made_.insert(state);
  if (!made_.contains(state))
    blame(fmt::format("peer {} took over a state in round {} that nobody has made", machine,
                      shown.round.current));
}

void Checkers::end() {
  for (std::size_t machine = 0; machine < options_.peers; ++machine) check_ledger(machine);
  check_pairs();
}

void Checkers::check_ledger(std::size_t machine) {
  auto const ledger = swarm_.ledger(machine);
  if (!ledger)
    return blame(fmt::format("the ledger of peer {}: {}", machine, ledger.error().message()));
  for (auto const& entry : *ledger) {
    auto const where = fmt::format("ledger of peer {}, round {}", machine, entry->round);
    check_entry(where, *entry);
    if (options_.mixing.one_state() && options_.witness && whole(*entry, options_.shards))
      replayed(where, replay_global(swarm_, machine, *entry));
    machines_[entry.signer()] = machine;
    entries_[machine][{entry->round, entry->lane}] =
        *entry;  // the newest counts: of a round done again
  }
}

void Checkers::check_entry(std::string const& where, LedgerEntry const& entry) {
  double weights = 0;
  double tokens = 0;
  for (auto const& input : entry.inputs) tokens += static_cast<double>(input.tokens);
  for (auto const& input : entry.inputs) {
    weights += input.weight;
    double const wanted = entry.lane == MixLane::gradients
                              ? static_cast<double>(input.tokens) / tokens
                              : 1.0 / static_cast<double>(entry.inputs.size());
    if (std::abs(input.weight - wanted) > 1e-9)
      blame(fmt::format("{}: a weight of {} instead of {}", where, input.weight, wanted));
    if (input.contribution.is_zero() && entry.inputs.size() > 1)
      blame(where + ": an input without its contribution");
  }
  if (!entry.inputs.empty() && std::abs(weights - 1) > 1e-9)
    blame(where + ": weights do not sum to one");
  if (options_.mixing.one_state()) check_merge(where, entry);
}

// Who went from one state to one other mixed the same inputs; who mixed the same whole inputs into
// one state came to one other.
void Checkers::check_merge(std::string const& where, LedgerEntry const& entry) {
  if (entry.inputs.empty()) return;
  auto const [known, fresh] =
      by_states_.emplace(std::tuple(entry.round, entry.before, entry.after), Merge{entry, where});
  if (!fresh && known->second.entry.inputs != entry.inputs)
    blame(fmt::format("{}: other inputs than in the {} for the same merge", where,
                      known->second.where));
  if (!whole(entry, options_.shards)) return;
  for (auto const& other : merges_)
    if (other.entry.round == entry.round && other.entry.before == entry.before &&
        other.entry.inputs == entry.inputs && other.entry.after != entry.after)
      blame(fmt::format("{}: another state than in the {} of the same inputs", where, other.where));
  merges_.push_back({entry, where});
}

// What was owed for an exchange in doubt may be in any later state.
bool Checkers::in_doubt(std::size_t machine) const {
  return std::ranges::any_of(entries_.at(machine),
                             [](auto const& entry) { return was_doubted(entry.second); });
}

void Checkers::replayed(std::string const& where, std::optional<std::string> const& difference) {
  if (!difference) return;
  ++replays_;
  if (!difference->empty()) blame(where + ", computed once more: " + *difference);
}

// An exchange that one side has recorded is in the ledger of the other too, unless that one was
// left in doubt (and makes it good later), or has crashed: of an exchange it keeps the decision.
void Checkers::check_pairs() {
  for (auto const& [machine, lines] : entries_)
    for (auto const& [line, entry] : lines) {
      if (entry.mix != MixPattern::pair || entry.inputs.size() < 2) continue;
      auto const round = entry.round;
      for (auto const& input : entry.inputs) {
        auto const other = machines_.find(input.peer);
        if (other == machines_.end() || other->second == machine) continue;
        auto const theirs = entries_.at(other->second).find(line);
        if (theirs == entries_.at(other->second).end()) continue;
        bool const doubted = was_doubted(theirs->second);
        bool const agreed =
            theirs->second.inputs.size() == 2 &&
            std::ranges::equal(theirs->second.inputs, entry.inputs, {}, &LedgerEntry::Input::peer,
                               &LedgerEntry::Input::peer);
        if (!agreed && !doubted && !has_crashed_.contains(other->second))
          blame(fmt::format("in round {} peer {} exchanged with peer {}, which did not", round,
                            machine, other->second));
        if (agreed && entry.lane == MixLane::joint && options_.witness && !in_doubt(machine) &&
            !in_doubt(other->second))
          replayed(fmt::format("ledger of peer {}, round {}", machine, round),
                   replay_pair(swarm_, machine, entry, other->second, theirs->second));
      }
    }
}

}  // namespace grapevine::world
