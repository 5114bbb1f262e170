#include "grapevine/round/butterfly.hpp"

#include "grapevine/base/assert.hpp"
#include "grapevine/base/limits.hpp"
#include "grapevine/round/norm_bound.hpp"

#include <algorithm>
#include <functional>

namespace grapevine {
Butterfly::Butterfly(ButterflySettings settings, SwarmView const& view)
    : settings_(std::move(settings)), view_(view) {
  ASSERT(settings_.shards > 0);
  ASSERT(settings_.shards <= limits::mix_shards_max);
  ASSERT(settings_.wait_min <= settings_.wait_max);
  book_of(0);
}

std::vector<ButterflyAction> Butterfly::on(ButterflyEvent const& event, Instant now) {
  now_ = now;
  std::visit([this](auto const& e) { handle(e); }, event);
  return std::exchange(actions_, {});
}

void Butterfly::handle(butterfly_event::Began const& event) {
  version_ = event.version;
  contributes_ = event.contributes;
  phase_ = Phase::listening;
  books_.erase(books_.begin(), books_.lower_bound(version_.round));
  book_of(version_.round);
  blobs_.clear();
  members_ever_.clear();
  excused_.clear();
  ranked_.clear();
  judge_anew();
}

void Butterfly::handle(butterfly_event::Moved const& event) {
  ASSERT(event.version.round == version_.round);
  version_ = event.version;
  judge_anew();
}

void Butterfly::handle(butterfly_event::ContributionSeen const& event) {
  auto const& contribution = event.contribution;
  if (contribution.lane != settings_.lane) return;
  if (contribution.round < version_.round || contribution.round > version_.round + 1) return;
  if (contribution.shards.size() != settings_.shards || event.peer == settings_.self) return;
  auto& contributions = book_of(contribution.round).contributions;
  auto const others = contributions.size() - contributions.count(settings_.self);
  if (others < limits::round_peers_max - 1)           // one place is ours
    contributions.emplace(event.peer, contribution);  // the first counts
  if (phase_ != Phase::listening || !contributes_ || contribution.round != version_.round) return;
  rank_reducers();
  for (std::uint32_t i = 0; i < settings_.shards; ++i)
    if (rank_in(i) == 0) want_inputs(i);  // early contributions travel while we still train
}

void Butterfly::handle(butterfly_event::ResultSeen const& event) {
  auto const& result = event.result;
  if (result.lane != settings_.lane) return;
  if (result.round < version_.round || result.round > version_.round + 1) return;
  if (result.shard >= settings_.shards || event.reducer == settings_.self) return;
  auto& candidates = book_of(result.round).shards[result.shard].candidates;
  if (std::ranges::find(candidates, event.reducer, &Candidate::reducer) != candidates.end()) return;
  Candidate const told{event.reducer, result, false};
  if (candidates.size() < limits::shards_max) return candidates.push_back(told);
  // Anybody may fill the places; whose turn it is finds one all the same, now or when it says it
  // again. Its own turn this peer knows without a place.
  if (result.round == version_.round && is_first(told)) candidates.back() = told;
}

void Butterfly::handle(butterfly_event::Contributed const& event) {
  ASSERT(event.mine.round == version_.round);
  ASSERT(event.mine.lane == settings_.lane);
  ASSERT(event.mine.shards.size() == settings_.shards);
  book_of(version_.round).contributions[settings_.self] = event.mine;
  judge_anew();
  for (std::uint32_t i = 0; i < settings_.shards; ++i)
    blobs_[input_of(event.mine, i)].arrival = Arrival::here;
  actions_.push_back(butterfly_action::Publish{event.mine});
}

void Butterfly::handle(butterfly_event::Collect const& event) {
  ASSERT(phase_ == Phase::listening);
  phase_ = Phase::collecting;
  inner_took_ = event.inner_took;
  collect_started_ = collect_until_ = overdue_at_ = give_up_ = now_;
  inputs_wait_.begin(now_);
  results_wait_.begin(now_);
}

void Butterfly::handle(butterfly_event::Fetched const& event) {
  auto const known = blobs_.find(event.what);
  if (known == blobs_.end()) return;  // of a round that is over
  auto& asked = known->second;
  if (asked.fetches > 0) --asked.fetches;
  if (event.failure.empty()) asked.arrival = Arrival::here;
  if (asked.arrival == Arrival::here) return;
  asked.failure = event.failure;
  if (asked.fetches > 0) return;  // another holder is still being asked
  asked.arrival = Arrival::failed;
  for (auto& shard : book_of(version_.round).shards)
    for (auto const& candidate : shard.candidates)
      if (result_of(candidate) == event.what && asked.holders.contains(candidate.reducer))
        shard.bad_reducers.insert(candidate.reducer);
}

void Butterfly::handle(butterfly_event::Averaged const& event) {
  if (event.lane != settings_.lane || event.round != version_.round) return;
  if (phase_ != Phase::collecting) return;
  ASSERT(event.shard < settings_.shards);
  auto& shard = book_of(version_.round).shards[event.shard];
  ASSERT(shard.averaging);
  shard.averaging = false;
  shard.averaged = true;
  if (!event.failure.empty()) return;
  ShardResult result;
  result.run = settings_.run;
  result.round = version_.round;
  result.lane = settings_.lane;
  result.base = version_.state;
  result.shard = event.shard;
  result.inputs = std::exchange(shard.inputs, {});
  result.result = event.result;
  shard.candidates.push_back({settings_.self, result, false});
  blobs_[result_of(shard.candidates.back())].arrival = Arrival::here;
  actions_.push_back(butterfly_action::Publish{result});
}

void Butterfly::handle(butterfly_event::Left const&) {
  stop_fetches();
  phase_ = Phase::listening;
  contributes_ = false;
}

void Butterfly::handle(butterfly_event::Tick const&) {
  note_members();
  if (phase_ == Phase::collecting) collect();
}

Butterfly::Book& Butterfly::book_of(std::uint64_t round) {
  auto& book = books_[round];
  book.shards.resize(settings_.shards);
  return book;
}

std::vector<PeerId> Butterfly::contributors() const {
  std::vector<PeerId> found;
  for (auto const& [peer, contribution] : book().contributions)
    if (comes_from_here(contribution)) found.push_back(peer);
  return found;
}

std::vector<PeerId> Butterfly::expected() const {
  return settings_.one_state ? view_.members(version_) : view_.members_of_round(version_.round);
}

bool Butterfly::comes_from_here(Contribution const& contribution) const {
  return !settings_.one_state || contribution.base == version_.state;
}

void Butterfly::judge_anew() {
  for (auto& shard : book_of(version_.round).shards)
    for (auto& candidate : shard.candidates) candidate.known_sound = false;
}

void Butterfly::note_members() {
  if (phase_ == Phase::idle) return;
  auto note = [this](PeerId const& peer) {
    if (members_ever_.size() < limits::round_peers_max) members_ever_.insert(peer);
  };
  for (auto const& peer : contributors()) note(peer);
  for (auto const& peer : expected()) note(peer);
  for (auto const& peer : members_ever_) {
    auto const* const seen = view_.find(peer);
    if (seen != nullptr && seen->beacon.state == PeerState::paused) excused_.insert(peer);
  }
}

Contribution const* Butterfly::contribution_of(PeerId const& peer) const {
  auto const found = book().contributions.find(peer);
  if (found == book().contributions.end()) return nullptr;
  return comes_from_here(found->second) ? &found->second : nullptr;
}

void Butterfly::collect() {
  note_progress();
  set_deadlines();
  rank_reducers();
  want_results();
  for (std::uint32_t i = 0; i < settings_.shards; ++i) reduce(i);
  if (results_settled() || now_ >= give_up_) close();
}

// Hashing everybody for every shard at every event would be most of the machine's time: done again
// only when it is about others than before.
void Butterfly::rank_reducers() {
  auto peers = responsible();
  bool const only_contributors = phase_ == Phase::collecting && now_ >= collect_until_;
  if (only_contributors)
    std::erase_if(peers, [this](PeerId const& peer) { return contribution_of(peer) == nullptr; });
  if (peers == ranked_) return;
  ranked_ = std::move(peers);
  auto everyone = ranked_;
  everyone.push_back(settings_.self);
  auto orders = reducers(settings_.run, version_.round, settings_.shards, everyone);
  for (std::uint32_t i = 0; i < settings_.shards; ++i) {
    orders[i].erase(std::ranges::find(orders[i], settings_.self), orders[i].end());
    book_of(version_.round).shards[i].before_us = std::move(orders[i]);
  }
}

std::size_t Butterfly::rank_in(std::uint32_t index) const {
  auto const& shard = book().shards[index];
  if (shard.bad_reducers.empty()) return shard.before_us.size();
  return static_cast<std::size_t>(std::ranges::count_if(
      shard.before_us, [&](PeerId const& peer) { return !shard.bad_reducers.contains(peer); }));
}

void Butterfly::reduce(std::uint32_t index) {
  auto& shard = book_of(version_.round).shards[index];
  if (shard.averaging || shard.averaged || contribution_of(settings_.self) == nullptr) return;
  if (!shard.before_us.empty()) {
    // A successor steps in when those before it had their time and nothing usable has come.
    // Those who have announced one and do not give it have together one turn.
    auto const rank = std::min(shard.before_us.size(), rank_in(index) + 1);
    if (now_ < collect_until_ + static_cast<std::int64_t>(rank) * turn()) return;
    if (best(index) != nullptr || left_out(index)) return;
  }
  want_inputs(index);
  if (!shard.before_us.empty()) {
    if (!shard.inputs_until) shard.inputs_until = now_ + turn();
    if (inputs_pending(index) && now_ < *shard.inputs_until) return;
  } else if (!inputs_settled(index)) {
    return;
  }
  shard.averaging = true;
  shard.inputs = inputs_here(index);
  actions_.push_back(
      butterfly_action::Average{settings_.lane, version_.round, index, shard.inputs});
}

void Butterfly::want_inputs(std::uint32_t index) {
  for (auto const& [peer, contribution] : book().contributions)
    if (comes_from_here(contribution)) {
      bool const gradient = settings_.lane == MixLane::gradients;
      want({input_of(contribution, index),
            {peer},
            now_ + settings_.wait_max,
            gradient ? std::optional(contribution.norm) : std::nullopt});
    }
}

std::vector<ShardResult::Input> Butterfly::inputs_here(std::uint32_t index) const {
  std::vector<ShardResult::Input> inputs;
  for (auto const& peer : contributors()) {
    auto const* const contribution = contribution_of(peer);
    auto const what = input_of(*contribution, index);
    if (arrival(what) == Arrival::here)
      inputs.push_back({peer, what.blob.root, contribution->tokens});
  }
  auto const stays = bounded(inputs);
  std::vector<ShardResult::Input> left;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (stays[i]) left.push_back(inputs[i]);
  return left;
}

std::vector<bool> Butterfly::bounded(std::vector<ShardResult::Input> const& inputs) const {
  std::vector<GradientClaim> claims;
  for (auto const& input : inputs)
    claims.push_back({input.tokens, contribution_of(input.peer)->norm});
  return within_norm_bound(claims);
}

ShardBlob Butterfly::input_of(Contribution const& contribution, std::uint32_t index) const {
  return {settings_.lane, index, false, contribution.shards[index]};
}

ShardBlob Butterfly::result_of(Candidate const& candidate) const {
  return {settings_.lane, candidate.result.shard, true, candidate.result.result};
}

Butterfly::Asked const* Butterfly::asked(ShardBlob const& what) const {
  auto const known = blobs_.find(what);
  return known == blobs_.end() ? nullptr : &known->second;
}

Butterfly::Arrival Butterfly::arrival(ShardBlob const& what) const {
  auto const* const known = asked(what);
  return known == nullptr ? Arrival::unknown : known->arrival;
}

// A peer may name a blob that is another's: each holder is asked, whoever named it first.
void Butterfly::want(butterfly_action::Fetch fetch) {
  auto& asked = blobs_[fetch.what];
  if (asked.arrival == Arrival::here) return;
  auto const is_known = [&](PeerId const& peer) { return !asked.holders.insert(peer).second; };
  std::erase_if(fetch.holders, is_known);
  if (!fetch.holders.empty()) this->fetch(std::move(fetch));
}

void Butterfly::fetch(butterfly_action::Fetch fetch) {
  auto& asked = blobs_[fetch.what];
  if (asked.arrival == Arrival::unknown) asked.wanted_at = now_;
  asked.arrival = Arrival::wanted;
  ++asked.fetches;
  actions_.push_back(std::move(fetch));
}

// What is still under way would take the links from what comes next.
void Butterfly::stop_fetches() {
  auto const stop = [this](auto const& entry) {
    if (entry.second.fetches > 0) actions_.push_back(butterfly_action::StopFetch{entry.first});
    return entry.second.fetches > 0;
  };
  std::erase_if(blobs_, stop);
}

void Butterfly::close() {
  butterfly_action::Closed action;
  action.lane = settings_.lane;
  action.round = version_.round;
  std::map<PeerId, std::uint32_t> used;
  for (std::uint32_t i = 0; i < settings_.shards; ++i) {
    auto const* const chosen = best_here(i);
    action.results.push_back(chosen ? std::optional(chosen->result.result) : std::nullopt);
    action.with_ours.push_back(false);
    if (chosen == nullptr) continue;
    for (auto const& input : chosen->result.inputs) {
      ++used[input.peer];
      if (input.peer == settings_.self) action.with_ours.back() = true;
    }
  }
  for (auto const& [peer, shards] : used) {
    auto const* const contribution = contribution_of(peer);
    action.inputs.push_back({peer, contribution->tokens, contribution->norm, shards});
  }
  for (auto const& peer : members_ever_)
    if (!used.contains(peer) && !excused_.contains(peer) &&
        action.inputs.size() + action.missing.size() < limits::round_peers_max)
      action.missing.push_back({peer, why_missing(peer)});
  phase_ = Phase::closed;
  stop_fetches();
  actions_.push_back(std::move(action));
}

std::string Butterfly::why_missing(PeerId const& peer) const {
  if (auto const* const contribution = contribution_of(peer)) {
    for (std::uint32_t i = 0; i < settings_.shards; ++i)
      if (auto const what = input_of(*contribution, i); arrival(what) == Arrival::failed)
        return "its gradient could not be pulled: " + asked(what)->failure;
    std::vector<ShardResult::Input> all;
    for (auto const& other : contributors())
      all.push_back({other, {}, contribution_of(other)->tokens});
    auto const place = std::ranges::find(all, peer, &ShardResult::Input::peer) - all.begin();
    if (!bounded(all)[static_cast<std::size_t>(place)])
      return "its gradient is far larger than the others'";
    return "its gradient reached no reducer in time";
  }
  if (book().contributions.contains(peer)) return "trained from another state";
  auto const* const seen = view_.find(peer);
  if (seen == nullptr) return "connection lost";
  auto const& beacon = seen->beacon;
  if (beacon.round == version_.round && beacon.state == PeerState::training)
    return "still training at step " + std::to_string(beacon.inner_step) + " of " +
           std::to_string(beacon.inner_steps);
  return "announced nothing before the deadline";
}

}  // namespace grapevine
