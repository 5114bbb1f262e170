// Which result of a shard a peer takes, of those announced, and where it gets it.

#include "grapevine/base/limits.hpp"
#include "grapevine/round/butterfly.hpp"
#include "grapevine/round/norm_bound.hpp"

#include <algorithm>
#include <functional>

namespace grapevine {
namespace {

constexpr Duration ask_again_least = 250ms;

std::uint64_t total_tokens(ShardResult const& result) {
  std::uint64_t total = 0;
  for (auto const& input : result.inputs) {
    if (total + input.tokens < total) return ~0ULL;
    total += input.tokens;
  }
  return total;
}

}  // namespace

bool Butterfly::sound(Candidate const& candidate, std::uint32_t index) const {
  if (candidate.known_sound) return true;
  auto const& result = candidate.result;
  if (settings_.one_state && result.base != version_.state) return false;
  if (candidate.reducer != settings_.self && !members_ever_.contains(candidate.reducer))
    return false;
  // Every input must be what its author announced: a reducer cannot invent weight.
  auto const as_announced = [&](ShardResult::Input const& input) {
    auto const* const contribution = contribution_of(input.peer);
    return contribution != nullptr && contribution->shards[index].root == input.root &&
           contribution->tokens == input.tokens;
  };
  candidate.known_sound = std::ranges::all_of(result.inputs, as_announced) &&
                          std::ranges::all_of(bounded(result.inputs), std::identity{});
  return candidate.known_sound;
}

bool Butterfly::right(Candidate const& candidate, std::uint32_t index) const {
  return (settings_.one_state || has_ours(candidate)) && sound(candidate, index);
}

bool Butterfly::has_ours(Candidate const& candidate) const {
  auto const is_ours = [this](auto const& input) { return input.peer == settings_.self; };
  return std::ranges::any_of(candidate.result.inputs, is_ours);
}

// The one who is to average it has done so without this peer. Only its word counts: another's
// would keep us from what is still to come.
bool Butterfly::left_out(std::uint32_t index) const {
  auto const& shard = book().shards[index];
  if (settings_.one_state || shard.before_us.empty()) return false;
  return std::ranges::any_of(shard.candidates, [&](Candidate const& candidate) {
    return is_first(candidate) && !has_ours(candidate) && sound(candidate, index);
  });
}

// Who was asked and has not delivered gives way to the next best; what comes late still counts.
bool Butterfly::late(Candidate const& candidate) const {
  auto const* const known = asked(result_of(candidate));
  if (known == nullptr || !known->holders.contains(candidate.reducer)) return false;
  if (known->arrival == Arrival::failed) return true;
  bool const had_time = now_ >= std::max(overdue_at_, known->wanted_at + grace_ / 2);
  return known->arrival == Arrival::wanted && had_time;
}

bool Butterfly::usable(Candidate const& candidate, std::uint32_t index) const {
  return !late(candidate) && right(candidate, index);
}

// The one whose turn it is, then most tokens, then the lower root: peers that know the same peers
// and candidates choose the same. Anybody may announce a result, and name a root as low as it
// likes.
Butterfly::Candidate const* Butterfly::better(Candidate const* a, Candidate const* b) const {
  if (a == nullptr || b == nullptr) return a == nullptr ? b : a;
  if (is_first(*a) != is_first(*b)) return is_first(*a) ? a : b;
  auto const tokens_a = total_tokens(a->result);
  auto const tokens_b = total_tokens(b->result);
  if (tokens_a != tokens_b) return tokens_a > tokens_b ? a : b;
  return b->result.result < a->result.result ? b : a;
}

bool Butterfly::is_first(Candidate const& candidate) const {
  auto const& before_us = book().shards[candidate.result.shard].before_us;
  return candidate.reducer == (before_us.empty() ? settings_.self : before_us.front());
}

Butterfly::Candidate const* Butterfly::best(std::uint32_t index) const {
  Candidate const* chosen = nullptr;
  for (auto const& candidate : book().shards[index].candidates)
    if (usable(candidate, index)) chosen = better(chosen, &candidate);
  return chosen;
}

Butterfly::Candidate const* Butterfly::best_here(std::uint32_t index) const {
  Candidate const* chosen = nullptr;
  for (auto const& candidate : book().shards[index].candidates)
    if (arrival(result_of(candidate)) == Arrival::here && usable(candidate, index))
      chosen = better(chosen, &candidate);
  return chosen;
}

bool Butterfly::results_known() const {
  for (std::uint32_t i = 0; i < settings_.shards; ++i)
    if (best(i) == nullptr) return false;
  return true;
}

bool Butterfly::result_settled(std::uint32_t index) const {
  auto const* const chosen = best(index);
  if (chosen == nullptr) return left_out(index);
  return arrival(result_of(*chosen)) == Arrival::here;
}

bool Butterfly::results_settled() const {
  for (std::uint32_t i = 0; i < settings_.shards; ++i)
    if (!result_settled(i)) return false;
  return true;
}

void Butterfly::want_results() {
  for (std::uint32_t i = 0; i < settings_.shards; ++i) {
    auto const* const chosen = best(i);
    if (chosen == nullptr) {
      ask_around(i);
      continue;
    }
    std::vector<PeerId> holders;
    for (auto const& candidate : book().shards[i].candidates)
      if (candidate.result.result == chosen->result.result && candidate.reducer != settings_.self)
        holders.push_back(candidate.reducer);
    if (!holders.empty()) want({result_of(*chosen), std::move(holders), give_up_, {}});
  }
}

// A result that its reducer does not give is had from those who have pulled it: a link that is down
// costs this peer a detour, not its agreement with the others.
void Butterfly::ask_around(std::uint32_t index) {
  Candidate const* lost = nullptr;
  for (auto const& candidate : book().shards[index].candidates)
    if (late(candidate) && right(candidate, index)) lost = better(lost, &candidate);
  if (lost == nullptr) return;
  auto& asked = blobs_.at(result_of(*lost));
  if (now_ < asked.ask_again || asked.fetches > 1) return;
  asked.ask_again = now_ + std::max<Duration>(settings_.wait_min / 8, ask_again_least);
  auto others = some_others(asked.holders, asked.asked_around++);
  if (!others.empty()) fetch({result_of(*lost), std::move(others), give_up_, {}});
}

// Not the same each time, nor all of a large swarm.
std::vector<PeerId> Butterfly::some_others(std::set<PeerId> const& except, std::size_t turn) const {
  auto others = responsible();
  std::erase_if(others, [&](PeerId const& peer) { return except.contains(peer); });
  if (others.size() <= limits::blob_holders_max) return others;
  auto const ours = std::ranges::lower_bound(others, settings_.self) - others.begin();
  auto const first = static_cast<std::size_t>(ours) + turn * limits::blob_holders_max;
  std::ranges::rotate(others, others.begin() + static_cast<std::ptrdiff_t>(first % others.size()));
  others.resize(limits::blob_holders_max);
  return others;
}

}  // namespace grapevine
