// Rounds in which every peer has a state of its own: Mix1 while the inner steps run, Mix2 after
// them, each with everybody, with one other, or with nobody.

#include "grapevine/base/assert.hpp"
#include "grapevine/round/round.hpp"

namespace grapevine {

void Round::go_on_apart() {
  if (phase_ == RoundPhase::training) keep_up();
  if (phase_ == RoundPhase::syncing) retry_sync();
  if (phase_ == RoundPhase::idle || phase_ == RoundPhase::finished) return;
  mix_both(butterfly_event::Tick{});
  if (phase_ == RoundPhase::collecting) apply_if_mixed();
}

void Round::keep_up() {
  if (!settings_.mixing.nothing()) {
    auto const ahead = leaders();
    bool const far = ahead && ahead->round > version_.round + 1;
    // Nobody is left in this round to exchange with: what is trained so far is its outer step, and
    // the next round begins in step with the others.
    bool const alone = view_.all_beyond(version_.round);
    if ((far || alone) && !inner_done_) actions_.push_back(round_action::StopInner{});
    if (far) return sync_to(*ahead);
    inner_done_ |= alone;
  }
  bool const global = settings_.mixing.has(MixPattern::global);
  if (inner_done_ && !(global && runs_away())) prepare();
}

MixLane Round::last_lane() const {
  return settings_.mixing.joint ? MixLane::joint : MixLane::gradients;
}

void Round::share_parameters() {
  if (settings_.mixing.pattern_of(MixLane::parameters) == MixPattern::none) return;
  actions_.push_back(round_action::Prepare{MixLane::parameters, version_.round, version_.state});
}

void Round::exchange(MixLane lane, Contribution const& mine) {
  // Mix1 may take half of the time that there is anyway: then Mix2 finds the links free.
  Duration const inner = lane == MixLane::parameters ? inner_estimate() / 2 : inner_took_;
  switch (settings_.mixing.pattern_of(lane)) {
    case MixPattern::none:
      mixed_[lane].inputs.push_back({settings_.self, mine.tokens, mine.norm, settings_.shards});
      return;
    case MixPattern::pair:
      actions_.push_back(round_action::Pair{lane, mine, inner});
      return;
    case MixPattern::global:
      if (lane == MixLane::gradients) return mix(gradients_, butterfly_event::Contributed{mine});
      mix(parameters_, butterfly_event::Contributed{mine});
      return mix(parameters_, butterfly_event::Collect{inner});
  }
}

Duration Round::inner_estimate() const {
  if (rates_.steps_per_s <= 0) return {};
  return std::min<Duration>(from_seconds(inner_target_ / rates_.steps_per_s), settings_.wait_max);
}

// This peer has learned nothing that could be mixed; Mix1 still brings it closer to the others.
void Round::sit_out() {
  phase_ = RoundPhase::collecting;
  actions_.push_back(round_action::BeaconNow{});
  mixed_[last_lane()].pattern = settings_.mixing.pattern_of(last_lane());
}

void Round::handle(round_event::PairClosed const& event) {
  auto const& how = event.how;
  if (how.round != version_.round) return;
  ASSERT(settings_.mixing.pattern_of(how.lane) == MixPattern::pair);
  auto& mixed = mixed_[how.lane];
  mixed.pattern = MixPattern::pair;
  mixed.closed = now_;
  mixed.partner = how.partner;
  mixed.doubt = how.doubt;
  auto const shards = shards_of(how.lane);
  float const norm = how.lane != MixLane::parameters && mine_ ? mine_->norm : 0;
  mixed.inputs.push_back({settings_.self, event.tokens, norm, shards});
  if (auto const& partner = how.partner) {
    view_.mixed_with(*partner);
    round_action::Mixed::Input const input{*partner, event.partner_tokens, event.partner_norm,
                                           shards};
    mixed.inputs.insert(*partner < settings_.self ? mixed.inputs.begin() : mixed.inputs.end(),
                        input);
  }
  for (auto const& missing : how.missing) mixed.missing.push_back({missing.peer, missing.reason});
}

void Round::apply_if_mixed() {
  bool const two = settings_.mixing.pattern_of(MixLane::parameters) != MixPattern::none;
  if (mixed_.size() < (two ? 2 : 1)) return;
  round_action::Apply action;
  action.round = version_.round;
  action.has_gradient = mine_ && !failed_;
  for (auto& [lane, mixed] : mixed_) {
    mixed.lane = lane;
    action.mixed.push_back(std::move(mixed));
  }
  phase_ = RoundPhase::applying;
  actions_.push_back(std::move(action));
}

}  // namespace grapevine
