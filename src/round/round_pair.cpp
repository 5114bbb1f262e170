// Rounds in which every peer has a state of its own: a pair exchange, or nobody at all.

#include "grapevine/base/assert.hpp"
#include "grapevine/round/round.hpp"

namespace grapevine {

void Round::go_on_apart() {
  if (phase_ == RoundPhase::training) keep_up();
  if (phase_ == RoundPhase::syncing) retry_sync();
}

void Round::keep_up() {
  if (settings_.mix == MixPattern::pair) {
    auto const ahead = leaders();
    bool const far = ahead && ahead->round > version_.round + 1;
    // Nobody is left in this round to exchange with: what is trained so far is its outer step, and
    // the next round begins in step with the others.
    bool const alone = view_.all_beyond(version_.round);
    if ((far || alone) && !inner_done_) actions_.push_back(round_action::StopInner{});
    if (far) return sync_to(*ahead);
    inner_done_ |= alone;
  }
  if (inner_done_) prepare();
}

void Round::exchange(Contribution const& mine) {
  start_collecting();
  if (settings_.mix == MixPattern::none) return apply_apart({});
  actions_.push_back(round_action::Pair{mine, inner_took_});
}

void Round::handle(round_event::PairClosed const& event) {
  ASSERT(settings_.mix == MixPattern::pair);
  ASSERT(phase_ == RoundPhase::collecting);
  ASSERT(event.how.round == version_.round);
  apply_apart(event);
}

void Round::apply_apart(round_event::PairClosed const& closed) {
  round_action::Apply action;
  action.round = version_.round;
  action.pair = {closed.how.partner, closed.how.doubt};
  action.results.resize(settings_.shards);
  if (mine_ && !failed_) {
    action.results.assign(mine_->shards.begin(), mine_->shards.end());
    action.inputs.push_back({settings_.self, mine_->tokens, mine_->norm, settings_.shards});
  }
  if (auto const& partner = closed.how.partner) {
    view_.mixed_with(*partner);
    round_action::Apply::Input const input{*partner, closed.partner_tokens, closed.partner_norm,
                                           settings_.shards};
    action.inputs.insert(*partner < settings_.self ? action.inputs.begin() : action.inputs.end(),
                         input);
  }
  for (auto const& missing : closed.how.missing)
    action.missing.push_back({missing.peer, missing.reason});
  phase_ = RoundPhase::applying;
  actions_.push_back(std::move(action));
}

}  // namespace grapevine
