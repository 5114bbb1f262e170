#include "grapevine/round/round.hpp"

#include "grapevine/base/assert.hpp"
#include "grapevine/base/limits.hpp"

#include <algorithm>

namespace grapevine {
namespace {

// How long after a round began the others' beacons have told which state they agree on.
constexpr Duration settle_time = 2s;
constexpr Duration sync_retry_time = 1s;
// Peers that claim to be ahead and give nobody their state are left alone after so many tries, for
// one round, then two, four, …: a claim costs a liar nothing, and must not stop us for ever.
constexpr std::uint32_t sync_tries = 5;
constexpr std::uint64_t follow_pause_max = 64;
// A peer this much slower than the median takes fewer inner steps, to end with the others.
constexpr double slower_by_max = 1.25;

}  // namespace

std::string_view to_string(RoundPhase phase) {
  switch (phase) {
    case RoundPhase::idle:
      return "idle";
    case RoundPhase::training:
      return "training";
    case RoundPhase::preparing:
      return "preparing";
    case RoundPhase::collecting:
      return "collecting";
    case RoundPhase::applying:
      return "applying";
    case RoundPhase::syncing:
      return "syncing";
    case RoundPhase::finished:
      return "finished";
  }
  return "?";
}

Round::Round(RoundSettings settings) : settings_(settings), view_(settings.beacon_ttl) {
  ASSERT(settings_.shards > 0);
  ASSERT(settings_.shards <= limits::shards_max);
  ASSERT(settings_.inner_steps > 0);
  ASSERT(settings_.wait_min <= settings_.wait_max);
}

std::vector<RoundAction> Round::on(RoundEvent const& event, Instant now) {
  now_ = now;
  view_.expire(now);
  std::visit([this](auto const& e) { handle(e); }, event);
  if (together())
    go_on_together();
  else
    go_on_apart();
  return std::exchange(actions_, {});
}

void Round::go_on_together() {
  note_members();
  if (phase_ == RoundPhase::training || phase_ == RoundPhase::collecting) look_around();
  if (phase_ == RoundPhase::finished) heal();  // the last round can leave two minds too
  if (phase_ == RoundPhase::syncing) retry_sync();
  if (phase_ == RoundPhase::collecting) collect();
}

PeerState Round::beacon_state() const {
  switch (phase_) {
    case RoundPhase::idle:
      return PeerState::joining;
    case RoundPhase::syncing:
      return PeerState::syncing;
    case RoundPhase::training:
      return provisional_ ? PeerState::syncing : PeerState::training;
    case RoundPhase::preparing:
    case RoundPhase::collecting:
    case RoundPhase::applying:
      return provisional_ ? PeerState::syncing : PeerState::mixing;
    case RoundPhase::finished:
      return PeerState::stopping;
  }
  return PeerState::joining;
}

void Round::handle(round_event::Start const& event) {
  ASSERT(phase_ == RoundPhase::idle);
  version_ = event.version;
  provisional_ = event.provisional && together();
  begin_round();
}

void Round::handle(round_event::BeaconSeen const& event) {
  if (event.peer != settings_.self) view_.saw(event.peer, event.beacon, now_);
}

void Round::handle(round_event::PeerLost const& event) { view_.lost(event.peer); }

void Round::handle(round_event::ContributionSeen const& event) {
  auto const& contribution = event.contribution;
  if (contribution.round < version_.round || contribution.round > version_.round + 1) return;
  if (contribution.shards.size() != settings_.shards || event.peer == settings_.self) return;
  if (!together()) return;
  auto& contributions = book_of(contribution.round).contributions;
  auto const others = contributions.size() - contributions.count(settings_.self);
  if (others < limits::round_peers_max - 1)           // one place is ours
    contributions.emplace(event.peer, contribution);  // the first counts
  if (phase_ != RoundPhase::training || provisional_ || contribution.round != version_.round)
    return;
  rank_reducers();
  for (std::uint32_t i = 0; i < settings_.shards; ++i)
    if (rank_in(i) == 0) want_inputs(i);  // early contributions travel while we still train
}

void Round::handle(round_event::ResultSeen const& event) {
  auto const& result = event.result;
  if (result.round < version_.round || result.round > version_.round + 1) return;
  if (result.shard >= settings_.shards || event.reducer == settings_.self) return;
  if (!together()) return;
  auto& candidates = book_of(result.round).shards[result.shard].candidates;
  bool const known = std::ranges::any_of(
      candidates, [&](Candidate const& other) { return other.reducer == event.reducer; });
  if (!known && candidates.size() < limits::shards_max)
    candidates.push_back({event.reducer, result});
}

void Round::handle(round_event::InnerDone const& event) {
  if (phase_ != RoundPhase::training) return;  // was stopped meanwhile
  inner_took_ = event.took;
  inner_done_ = true;
}

void Round::handle(round_event::InnerFailed const&) {
  if (phase_ != RoundPhase::training && phase_ != RoundPhase::preparing) return;
  failed_ = true;
  if (!together()) return apply_apart({});
  provisional_ = true;
  awaited_.reset();
  start_collecting();
}

void Round::handle(round_event::Prepared const& event) {
  if (phase_ != RoundPhase::preparing) return;
  ASSERT(event.contribution.round == version_.round);
  ASSERT(event.contribution.shards.size() == settings_.shards);
  book_of(version_.round).contributions[settings_.self] = event.contribution;
  if (!together()) return exchange(event.contribution);
  for (auto const& blob : event.contribution.shards) blobs_[blob].arrival = Arrival::here;
  actions_.push_back(round_action::Publish{event.contribution});
  start_collecting();
}

void Round::handle(round_event::Fetched const& event) {
  auto const known = blobs_.find(event.blob);
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
      if (candidate.result.result == event.blob && asked.holders.contains(candidate.reducer))
        shard.bad_reducers.insert(candidate.reducer);
}

void Round::handle(round_event::Averaged const& event) {
  if (phase_ != RoundPhase::collecting || event.round != version_.round) return;
  ASSERT(event.shard < settings_.shards);
  auto& shard = book_of(version_.round).shards[event.shard];
  ASSERT(shard.averaging);
  shard.averaging = false;
  shard.averaged = true;
  if (!event.failure.empty()) return;
  ShardResult result;
  result.run = settings_.run;
  result.round = version_.round;
  result.base = version_.state;
  result.shard = event.shard;
  result.inputs = inputs_here(event.shard);
  result.result = event.result;
  blobs_[event.result].arrival = Arrival::here;
  shard.candidates.push_back({settings_.self, result});
  actions_.push_back(round_action::Publish{result});
}

void Round::handle(round_event::Applied const& event) {
  ASSERT(phase_ == RoundPhase::applying);
  ASSERT(event.version.round == version_.round + 1);
  version_ = event.version;
  provisional_ = false;
  begin_round();
}

void Round::handle(round_event::Synced const& event) {
  if (!awaits(event.version)) return;
  awaited_.reset();
  if (phase_ == RoundPhase::syncing) {
    syncs_failed_ = 0;
    follow_pause_ = 1;
    version_ = event.version;
    provisional_ = together();
    return begin_round();
  }
  if (event.version.state == version_.state) return;
  version_ = event.version;  // same round, another state: training goes on
  round_started_ = now_;
  actions_.push_back(round_action::BeaconNow{});
}

void Round::handle(round_event::SyncFailed const& event) {
  if (!awaits(event.version)) return;
  awaited_.reset();
  round_started_ = now_;  // look again after the settle time
  if (phase_ != RoundPhase::syncing) return;
  ++syncs_failed_;
  retry_sync_at_ = now_ + sync_retry_time;
}

void Round::begin_round() {
  books_.erase(books_.begin(), books_.lower_bound(version_.round));
  book_of(version_.round);
  blobs_.clear();
  members_ever_.clear();
  ranked_.clear();
  failed_ = false;
  inner_done_ = false;
  awaited_.reset();
  retry_sync_at_.reset();
  round_started_ = now_;
  if (settings_.rounds > 0 && version_.round >= settings_.rounds) {
    phase_ = RoundPhase::finished;
    actions_.push_back(round_action::BeaconNow{});
    actions_.push_back(round_action::Finished{});
    return;
  }
  start_inner();
}

void Round::start_inner() {
  phase_ = RoundPhase::training;
  inner_target_ = settings_.inner_steps;
  double const median = view_.median_steps_per_s();
  if (rates_.steps_per_s > 0 && median > slower_by_max * rates_.steps_per_s) {
    double const share = rates_.steps_per_s / median;
    inner_target_ = std::max(1U, static_cast<std::uint32_t>(settings_.inner_steps * share));
  }
  actions_.push_back(
      round_action::StartInner{version_.round * settings_.inner_steps, inner_target_});
  actions_.push_back(round_action::BeaconNow{});
}

void Round::look_around() {
  auto const ahead = leaders();
  if (phase_ == RoundPhase::collecting) {
    // One round ahead is the ordinary end of a round seen from a slower link: the results come.
    if (ahead && ahead->round > version_.round + 1) sync_to(*ahead);
    return;
  }
  if (ahead) return catch_up(*ahead);
  heal();
  if (inner_done_ && !awaited_) prepare();
}

void Round::heal() {
  Duration const age = now_ - round_started_;
  if (awaited_ || (inner_done_ ? age < sync_retry_time : age < settle_time)) return;
  auto const agreed = view_.agreed(version_);
  if (agreed == version_) return;
  awaited_ = agreed;
  actions_.push_back(round_action::Sync{agreed, view_.holders(agreed), true});
}

void Round::catch_up(Version const& ahead) {
  if (!inner_done_) actions_.push_back(round_action::StopInner{});
  if (ahead.round == version_.round + 1 && results_known()) return start_collecting();
  sync_to(ahead);
}

void Round::prepare() {
  if (provisional_) return start_collecting();
  phase_ = RoundPhase::preparing;
  actions_.push_back(round_action::Prepare{version_.round, version_.state});
  actions_.push_back(round_action::BeaconNow{});
}

void Round::sync_to(Version const& version) {
  ASSERT(version.round > version_.round);
  phase_ = RoundPhase::syncing;
  awaited_ = version;
  retry_sync_at_.reset();
  actions_.push_back(round_action::Sync{version, view_.holders(version), false});
  actions_.push_back(round_action::BeaconNow{});
}

void Round::retry_sync() {
  if (!retry_sync_at_ || now_ < *retry_sync_at_) return;
  retry_sync_at_.reset();
  if (syncs_failed_ >= sync_tries) {
    follow_from_ = version_.round + follow_pause_;
    follow_pause_ = std::min(2 * follow_pause_, follow_pause_max);
    syncs_failed_ = 0;
  }
  if (auto const ahead = leaders()) return sync_to(*ahead);
  start_inner();  // nobody is ahead whose state can be had: go on from what is here
}

std::optional<Version> Round::leaders() const {
  if (version_.round < follow_from_) return std::nullopt;
  return view_.ahead(version_.round);
}

Round::Book& Round::book_of(std::uint64_t round) {
  auto& book = books_[round];
  book.shards.resize(settings_.shards);
  return book;
}

}  // namespace grapevine
