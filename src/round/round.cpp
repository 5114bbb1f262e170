#include "grapevine/round/round.hpp"

#include "grapevine/base/assert.hpp"

#include <algorithm>

namespace grapevine {
namespace {

// How long after a round began the others' beacons have told which state they agree on.
constexpr Duration settle_time = 2s;
constexpr Duration sync_retry_time = 1s;
// Peers that claim to be ahead and give nobody their state are left alone after so many tries, for
// one round, then two, four, …: a claim costs a liar nothing, and must not stop us for ever.
constexpr std::uint32_t sync_tries = 5;
constexpr std::size_t unserved_max = 16;
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
    case RoundPhase::paused:
      return "paused";
    case RoundPhase::finished:
      return "finished";
  }
  return "?";
}

Round::Round(RoundSettings settings)
    : settings_(settings),
      view_(settings.beacon_ttl),
      parameters_(butterfly_settings(MixLane::parameters), view_),
      gradients_(butterfly_settings(MixLane::gradients), view_) {
  ASSERT(settings_.inner_steps > 0);
}

std::vector<RoundAction> Round::on(RoundEvent const& event, Instant now) {
  now_ = now;
  view_.expire(now);
  std::visit([this](auto const& e) { handle(e); }, event);
  rest_if_asked();
  if (together())
    go_on_together();
  else
    go_on_apart();
  return std::exchange(actions_, {});
}

void Round::go_on_together() {
  if (phase_ == RoundPhase::training || phase_ == RoundPhase::collecting) look_around();
  if (phase_ == RoundPhase::finished) heal();  // the last round can leave two minds too
  if (phase_ == RoundPhase::syncing) retry_sync();
  if (phase_ != RoundPhase::idle && phase_ != RoundPhase::finished)
    mix(gradients_, butterfly_event::Tick{});
}

ButterflySettings Round::butterfly_settings(MixLane lane) const {
  ButterflySettings settings;
  settings.run = settings_.run;
  settings.self = settings_.self;
  settings.lane = lane;
  settings.one_state = together();
  settings.overlapped = lane == MixLane::parameters;
  settings.shards = shards_of(lane);
  settings.payload_bytes =
      lane == MixLane::parameters ? settings_.mix1_bytes : settings_.mix2_bytes;
  settings.wait_min = settings_.wait_min;
  settings.wait_max = settings_.wait_max;
  return settings;
}

std::uint32_t Round::shards_of(MixLane lane) const {
  bool const momentum = lane == MixLane::parameters && settings_.mixing.mix1_momentum;
  return momentum ? 2 * settings_.shards : settings_.shards;
}

// Has the butterfly take the event in, and does as it says.
void Round::mix(Butterfly& lane, ButterflyEvent const& event) {
  for (auto& action : lane.on(event, now_)) {
    if (auto const* const closed = std::get_if<butterfly_action::Closed>(&action)) {
      perform(*closed);
      continue;
    }
    auto pass_on = [this](auto& one) {
      using Action = std::decay_t<decltype(one)>;
      if constexpr (!std::is_same_v<Action, butterfly_action::Closed>)
        actions_.push_back(std::move(one));
    };
    std::visit(pass_on, action);
  }
}

void Round::perform(butterfly_action::Closed const& closed) {
  ASSERT(closed.round == version_.round);
  round_action::Mixed mixed;
  mixed.lane = closed.lane;
  mixed.pattern = MixPattern::global;
  mixed.results = closed.results;
  mixed.with_ours = closed.with_ours;
  mixed.inputs = closed.inputs;
  mixed.missing = closed.missing;
  mixed.closed = now_;
  if (together()) return apply_together(std::move(mixed));
  for (auto const& input : mixed.inputs) view_.mixed_with(input.peer);
  mixed_[closed.lane] = std::move(mixed);
}

void Round::apply_together(round_action::Mixed mixed) {
  ASSERT(phase_ == RoundPhase::collecting);
  auto const is_ours = [this](auto const& input) { return input.peer == settings_.self; };
  round_action::Apply action;
  action.round = version_.round;
  action.keep_progress = !failed_ && std::ranges::none_of(mixed.inputs, is_ours);
  for (auto const& input : mixed.inputs) view_.mixed_with(input.peer);
  action.mixed.push_back(std::move(mixed));
  phase_ = RoundPhase::applying;
  actions_.push_back(std::move(action));
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
    case RoundPhase::paused:
      return PeerState::paused;
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

void Round::handle(round_event::ContributionSeen const& event) { mix_both(event); }

void Round::handle(round_event::ResultSeen const& event) { mix_both(event); }

void Round::handle(round_event::Fetched const& event) { mix_both(event); }

void Round::handle(round_event::Averaged const& event) { mix_both(event); }

void Round::handle(round_event::Rates const& event) {
  rates_ = event;
  mix_both(butterfly_event::Rate{event.bytes_per_s});
}

// Each of the two butterflies takes what is of its lane.
void Round::mix_both(ButterflyEvent const& event) {
  if (settings_.mixing.mix1 == MixPattern::global) mix(parameters_, event);
  if (settings_.mixing.mix2 == MixPattern::global) mix(gradients_, event);
}

void Round::handle(round_event::InnerDone const& event) {
  if (phase_ != RoundPhase::training) return;  // was stopped meanwhile
  inner_took_ = event.took;
  inner_ended_ = now_;
  inner_done_ = true;
}

void Round::handle(round_event::InnerFailed const&) {
  if (phase_ != RoundPhase::training && phase_ != RoundPhase::preparing) return;
  failed_ = true;
  if (!together()) return sit_out();
  provisional_ = true;
  if (phase_ == RoundPhase::preparing) return start_collecting();
  inner_ended_ = now_;
  inner_done_ = true;
}

void Round::handle(round_event::Prepared const& event) {
  auto const& mine = event.contribution;
  if (mine.lane == MixLane::parameters) {
    if (mine.round == version_.round && mine.base == version_.state)
      exchange(MixLane::parameters, mine);
    return;
  }
  if (phase_ != RoundPhase::preparing) return;
  ASSERT(mine.round == version_.round);
  mine_ = mine;
  exchange(last_lane(), mine);
  start_collecting();
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
  mix(gradients_, butterfly_event::Moved{version_});
  round_started_ = now_;
  actions_.push_back(round_action::BeaconNow{});
}

void Round::handle(round_event::SyncFailed const& event) {
  if (!awaits(event.version)) return;
  awaited_.reset();
  round_started_ = now_;  // look again after the settle time
  if (unserved_.size() < unserved_max) unserved_.insert(event.version);
  if (phase_ != RoundPhase::syncing) return;
  ++syncs_failed_;
  retry_sync_at_ = now_ + sync_retry_time;
}

void Round::handle(round_event::Pause const&) { pause_asked_ = true; }

void Round::handle(round_event::Resume const& event) {
  pause_asked_ = false;
  if (phase_ != RoundPhase::paused) return;
  round_started_ = now_;
  provisional_ |= event.provisional && together();
  auto const ahead = leaders();
  if (ahead && (together() || ahead->round > version_.round + 1)) return sync_to(*ahead);
  if (!inner_begun_) return start_round();
  if (!inner_done_) return start_inner(true);
  phase_ = RoundPhase::training;  // all is trained that this round asks for
  actions_.push_back(round_action::BeaconNow{});
}

void Round::begin_round() {
  mix_both(butterfly_event::Began{version_, !provisional_});
  mine_.reset();
  mixed_.clear();
  unserved_.clear();
  failed_ = false;
  inner_begun_ = false;
  inner_done_ = false;
  awaited_.reset();
  retry_sync_at_.reset();
  round_started_ = now_;
  auto const last = settings_.rounds > 0 ? settings_.rounds : limits::rounds_max;
  if (version_.round >= last) {
    phase_ = RoundPhase::finished;
    actions_.push_back(round_action::BeaconNow{});
    actions_.push_back(round_action::Finished{});
    return;
  }
  if (pause_asked_) return rest();
  start_round();
}

void Round::start_round() {
  start_inner(false);
  share_parameters();
}

void Round::start_inner(bool again) {
  phase_ = RoundPhase::training;
  inner_begun_ = true;
  inner_target_ = settings_.inner_steps;
  double const median = view_.median_steps_per_s();
  if (rates_.steps_per_s > 0 && median > slower_by_max * rates_.steps_per_s) {
    double const share = rates_.steps_per_s / median;
    inner_target_ = std::max(1U, static_cast<std::uint32_t>(settings_.inner_steps * share));
  }
  actions_.push_back(
      round_action::StartInner{version_.round * settings_.inner_steps, inner_target_, again});
  actions_.push_back(round_action::BeaconNow{});
}

void Round::rest_if_asked() {
  if (!pause_asked_ || (phase_ != RoundPhase::training && phase_ != RoundPhase::syncing)) return;
  if (phase_ == RoundPhase::training && !inner_done_) actions_.push_back(round_action::StopInner{});
  rest();
}

// What this peer has trained of the round stays with its trainer. A Mix1 that is under way goes on
// to its end, others count on it; nothing new is pulled.
void Round::rest() {
  if (settings_.mixing.mix2 == MixPattern::global) mix(gradients_, butterfly_event::Left{});
  bool const not_begun = settings_.mixing.mix1 == MixPattern::global && !inner_begun_;
  if (not_begun) mix(parameters_, butterfly_event::Left{});
  phase_ = RoundPhase::paused;
  awaited_.reset();
  retry_sync_at_.reset();
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
  if (inner_done_ && !awaited_ && !about_to_heal() && !runs_away()) prepare();
}

// Most of the swarm is still in earlier rounds. Going on without it, a peer that was alone for a
// while, or has a fast link, would stay ahead for ever and mix with nobody; when the others come,
// it takes over what they agree on. Where as many are here as there, those may only need a moment:
// a newcomer pulls the state of one who was alone so far.
bool Round::runs_away() const {
  std::size_t here = 1, behind = 0, coming = 0;
  for (auto const& [peer, view] : view_.peers()) {
    bool const earlier = view.beacon.round < version_.round;
    if (view.counts()) ++(earlier ? behind : here);
    if (earlier && view.beacon.state == PeerState::syncing) ++coming;
  }
  if (behind > here) return now_ < inner_ended_ + settings_.wait_max;
  return behind + coming >= here && now_ < inner_ended_ + settings_.wait_min;
}

bool Round::of_one_mind() const { return view_.agreed(version_, unserved_) == version_; }

// What is trained from a state that only this peer has can be mixed with nobody: it is worth the
// short while after which the others' beacons are believed.
bool Round::about_to_heal() const {
  return now_ - round_started_ < sync_retry_time && !of_one_mind();
}

void Round::heal() {
  Duration const age = now_ - round_started_;
  if (awaited_ || (inner_done_ ? age < sync_retry_time : age < settle_time)) return;
  auto const agreed = view_.agreed(version_, unserved_);
  if (agreed == version_) return;
  awaited_ = agreed;
  actions_.push_back(round_action::Sync{agreed, view_.holders(agreed), true});
}

void Round::catch_up(Version const& ahead) {
  if (!inner_done_) actions_.push_back(round_action::StopInner{});
  if (ahead.round == version_.round + 1 && gradients_.results_known()) return start_collecting();
  sync_to(ahead);
}

void Round::start_collecting() {
  phase_ = RoundPhase::collecting;
  awaited_.reset();  // the state of this round is what it is
  actions_.push_back(round_action::BeaconNow{});
  if (settings_.mixing.mix2 == MixPattern::global)
    mix(gradients_, butterfly_event::Collect{inner_took_});
}

void Round::prepare() {
  if (provisional_) return start_collecting();
  phase_ = RoundPhase::preparing;
  actions_.push_back(round_action::Prepare{MixLane::gradients, version_.round, version_.state});
  actions_.push_back(round_action::BeaconNow{});
}

void Round::sync_to(Version const& version) {
  ASSERT(version.round > version_.round);
  if (pause_asked_) return rest();
  if (together()) mix(gradients_, butterfly_event::Left{});
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
  start_inner(true);  // nobody is ahead whose state can be had: go on from what is here
}

std::optional<Version> Round::leaders() const {
  if (version_.round < follow_from_) return std::nullopt;
  return view_.ahead(version_.round);
}

}  // namespace grapevine
