#include "grapevine/round/pair_exchange.hpp"

#include "grapevine/base/assert.hpp"
#include "grapevine/base/limits.hpp"
#include "round/estimates_detail.hpp"

#include <algorithm>

namespace grapevine {
namespace {

// What has had no effect is said again: a message may be lost with its connection.
constexpr Duration repeat_time = 2s;

}  // namespace

PairExchange::PairExchange(PairSettings settings, SwarmView const& view, PairMemory memory)
    : settings_(std::move(settings)), view_(view), memory_(std::move(memory)) {
  ASSERT(settings_.wait_min <= settings_.wait_max);
}

std::vector<PairAction> PairExchange::on(PairEvent const& event, Instant now) {
  now_ = now;
  std::visit([this](auto const& e) { handle(e); }, event);
  advance();
  return std::exchange(actions_, {});
}

Hash PairExchange::edge(Hash const& run, std::uint64_t round, MixLane lane, PeerId const& a,
                        PeerId const& b) {
  Bytes input(run.view().begin(), run.view().end());
  append_be(input, round);
  input.push_back(static_cast<std::uint8_t>(lane));
  append(input, std::min(a, b).bytes());
  append(input, std::max(a, b).bytes());
  return sha256(input);
}

void PairExchange::handle(pair_event::Began const& event) {
  ASSERT(phase_ == PairPhase::idle || phase_ == PairPhase::closed || event.replaced);
  if (partner_) leave_partner();
  if (event.replaced)
    for (auto const& doubt : std::exchange(memory_.doubts, {})) settle(doubt, false);
  phase_ = PairPhase::idle;
  round_ = event.round;
  others_.clear();
  target_.reset();
}

void PairExchange::handle(pair_event::Ready const& event) {
  ASSERT(phase_ == PairPhase::idle);
  ASSERT(event.mine.round == round_);
  ASSERT(event.mine.lane == settings_.lane);
  mine_ = event.mine;
  inner_took_ = event.inner_took;
  bytes_per_s_ = event.bytes_per_s;
  ready_at_ = now_;
  phase_ = PairPhase::proposing;
}

void PairExchange::handle(pair_event::OfferSeen const& event) {
  ASSERT(event.offer.lane == settings_.lane);
  if (event.offer.round != round_)
    return answer(event.from, event.offer.round, MixVerdict::other_round);
  auto* const known = other(event.from);
  bool const bound = partner_ && *partner_ != event.from;
  if (known == nullptr || bound || phase_ == PairPhase::closed)
    return answer(event.from, round_, MixVerdict::busy);
  if (known->failed) return answer(event.from, round_, MixVerdict::refused);
  if (partner_) return;  // repeated
  known->offer = event.offer;
  known->dropped = false;
}

void PairExchange::handle(pair_event::AnswerSeen const& event) {
  auto const& [from, told] = event;
  ASSERT(told.lane == settings_.lane);
  switch (told.verdict) {
    case MixVerdict::busy:
    case MixVerdict::other_round:
    case MixVerdict::refused:
      if (told.round == round_) decline(from);
      return;
    case MixVerdict::prepared:
      return peer_prepared(from, told.round);
    case MixVerdict::commit:
      return committed_by(from, told.round);
    case MixVerdict::abort:
      return aborted_by(from, told.round);
  }
}

void PairExchange::handle(pair_event::PeerLost const& event) {
  if (partner_ == event.peer) {
    if (phase_ == PairPhase::pulling) return give_up("connection lost");
    // It may have committed. A short while for it to come back, then the round ends in doubt.
    doubt_until_ = std::min(doubt_until_, now_ + settings_.wait_min);
    return;
  }
  decline(event.peer);
}

void PairExchange::handle(pair_event::Pulled const& event) {
  if (phase_ != PairPhase::pulling || event.exchange != key()) return;
  if (!event.failure.empty()) return give_up("its side could not be pulled: " + event.failure);
  pulled_ = true;
  if (coordinates(*partner_)) return decide_if_ready();
  phase_ = PairPhase::prepared;
  doubt_until_ = exchange_until_ + settings_.wait_min;
  answer(*partner_, round_, MixVerdict::prepared);
  said_at_ = now_;
}

void PairExchange::handle(pair_event::Decided const& event) {
  if (phase_ != PairPhase::deciding || event.exchange != key()) return;  // left meanwhile
  if (!event.failure.empty()) return give_up("the decision could not be kept: " + event.failure);
  memory_.committed.insert(key());
  if (memory_.committed.size() > limits::pair_decisions_max)
    memory_.committed.erase(memory_.committed.begin());
  answer(*partner_, round_, MixVerdict::commit);
  close(*partner_, std::nullopt);
}

void PairExchange::advance() {
  if (phase_ == PairPhase::pulling && now_ >= exchange_until_)
    give_up("the exchange was not done in time");
  if (phase_ == PairPhase::proposing) choose();
  if (phase_ == PairPhase::prepared && now_ >= doubt_until_) close(std::nullopt, partner_);
  repeat();
  ask_again();
}

void PairExchange::choose() {
  drop_those_too_slow();
  auto const best = heaviest();
  if (best != target_) {
    // A heavier edge came to light. Staying with the lighter one could close a circle in which
    // everybody waits for the next.
    if (target_) answer(*target_, round_, MixVerdict::busy);
    target_ = best;
    if (target_) offer_to(*target_);
  }
  if (target_ && has_offer(*target_)) return match();
  if (now_ < propose_until() && (target_ || worth_waiting())) return;
  if (target_ && now_ >= propose_until()) {
    auto& silent = others_[*target_];
    silent.failed = true;
    silent.reason = "answered nothing before the deadline";
    answer(*target_, round_, MixVerdict::busy);
  }
  close(std::nullopt, std::nullopt);
}

void PairExchange::match() {
  partner_ = std::exchange(target_, std::nullopt);
  phase_ = PairPhase::pulling;
  pulled_ = false;
  peer_prepared_ = false;
  exchange_until_ = now_ + std::clamp(2 * transfer(), settings_.wait_min, settings_.wait_max);
  refuse_the_rest();
  actions_.push_back(pair_action::Pull{key(), *others_[*partner_].offer, exchange_until_});
}

void PairExchange::decline(PeerId const& peer) {
  bool const bound = phase_ == PairPhase::prepared || phase_ == PairPhase::deciding;
  if (bound && partner_ == peer) return;  // only commit or abort can end it
  auto* const known = other(peer);
  if (known == nullptr) return;
  known->dropped = true;
  known->offer.reset();
  if (target_ == peer) target_.reset();
  if (phase_ == PairPhase::pulling && partner_ == peer)
    leave_partner();  // it never saw itself matched with us
}

void PairExchange::give_up(std::string reason) {
  auto& failed = others_[*partner_];
  failed.failed = true;
  failed.offer.reset();
  failed.reason = std::move(reason);
  answer(*partner_, round_, MixVerdict::abort);
  leave_partner();
}

void PairExchange::leave_partner() {
  if (phase_ == PairPhase::pulling && !pulled_) actions_.push_back(pair_action::StopPull{key()});
  partner_.reset();
  phase_ = PairPhase::proposing;
}

void PairExchange::close(std::optional<PeerId> partner, std::optional<PeerId> doubt) {
  phase_ = PairPhase::closed;
  refuse_the_rest();
  pair_action::Closed closed;
  closed.round = round_;
  closed.lane = settings_.lane;
  closed.partner = partner;
  closed.doubt = doubt;
  for (auto const& [peer, known] : others_)
    if (known.failed) closed.missing.push_back({peer, known.reason});
  if (doubt) {
    closed.missing.push_back({*doubt, "did not say whether it committed"});
    memory_.doubts.insert(key(round_, *doubt));
    asked_at_ = now_;
    if (memory_.doubts.size() > limits::pair_doubts_max)
      settle(*memory_.doubts.begin(), false);  // the oldest makes room
  }
  actions_.push_back(std::move(closed));
}

void PairExchange::peer_prepared(PeerId const& peer, std::uint64_t round) {
  if (!coordinates(peer)) return;  // not its part
  if (round == round_ && partner_ == peer && phase_ != PairPhase::closed) {
    peer_prepared_ = true;
    return decide_if_ready();
  }
  if (memory_.committed.contains(key(round, peer))) return answer(peer, round, MixVerdict::commit);
  // Its offer was lost and will be repeated: it cannot have been matched without one of ours.
  if (round == round_ && target_ == peer) return;
  if (round == round_)
    if (auto* const known = other(peer); known != nullptr) {
      known->failed = true;
      known->offer.reset();
      known->reason = "prepared for an exchange that was over";
    }
  answer(peer, round, MixVerdict::abort);
}

void PairExchange::committed_by(PeerId const& peer, std::uint64_t round) {
  if (coordinates(peer)) return;
  if (memory_.doubts.contains(key(round, peer))) return settle(key(round, peer), true);
  if (phase_ == PairPhase::prepared && partner_ == peer && round == round_)
    close(peer, std::nullopt);
}

void PairExchange::aborted_by(PeerId const& peer, std::uint64_t round) {
  if (!coordinates(peer) && memory_.doubts.contains(key(round, peer)))
    return settle(key(round, peer), false);
  if (round != round_) return;
  bool const ours = partner_ == peer;
  // A coordinator's decision stands: who said `prepared` has given up the right to abort.
  if (ours && (phase_ == PairPhase::deciding || phase_ == PairPhase::closed)) return;
  if (ours && coordinates(peer) && peer_prepared_) return;
  auto* const known = other(peer);
  if (known == nullptr) return;
  known->failed = true;
  known->offer.reset();
  known->reason = "it gave up the exchange";
  if (ours) leave_partner();
}

void PairExchange::decide_if_ready() {
  if (phase_ != PairPhase::pulling || !pulled_ || !peer_prepared_) return;
  phase_ = PairPhase::deciding;
  actions_.push_back(pair_action::Decide{key()});
}

void PairExchange::settle(PairKey const& exchange, bool committed) {
  PairKey const settled = exchange;  // may lie in the set
  memory_.doubts.erase(settled);
  actions_.push_back(pair_action::Settled{settled, committed});
}

void PairExchange::drop_those_too_slow() {
  if (settings_.overlapped) return;
  for (auto const& [peer, seen] : view_.peers()) {
    if (!seen.counts() || seen.beacon.round != round_ || has_offer(peer)) continue;
    if (finish_estimate(seen, {}) <= latest_match()) continue;
    if (auto* const known = other(peer); known != nullptr) known->dropped = true;
  }
}

std::optional<PeerId> PairExchange::heaviest() const {
  std::optional<PeerId> best;
  Hash best_edge;
  auto consider = [&](PeerId const& peer) {
    auto const edge =
        PairExchange::edge(settings_.run, round_, settings_.lane, settings_.self, peer);
    if (best && edge <= best_edge) return;
    best = peer;
    best_edge = edge;
  };
  for (auto const& [peer, seen] : view_.peers()) {
    auto const known = others_.find(peer);
    bool const out = known != others_.end() && (known->second.dropped || known->second.failed);
    if (seen.counts() && seen.beacon.round == round_ && !out) consider(peer);
  }
  for (auto const& [peer, known] : others_)
    if (known.offer) consider(peer);
  return best;
}

// Somebody may be in this round already without our having heard of it; and while there is training
// to be done anyway, somebody who is taken now may be free again.
bool PairExchange::worth_waiting() const {
  Instant const until = settings_.overlapped ? latest_match() : ready_at_ + settings_.wait_min;
  if (now_ >= until) return false;
  return std::ranges::any_of(view_.peers(), [this](auto const& entry) {
    auto const& [peer, seen] = entry;
    auto const known = others_.find(peer);
    bool const never = known != others_.end() && known->second.failed;
    bool const here = settings_.overlapped && seen.beacon.round == round_ && !never;
    return seen.counts() && (here || seen.beacon.round + 1 == round_);
  });
}

Duration PairExchange::transfer() const {
  return transfer_estimate(settings_.payload_bytes, bytes_per_s_,
                           {settings_.wait_min, settings_.wait_max});
}

Instant PairExchange::latest_match() const {
  // Nobody is waited for longer than we trained ourselves: slower peers take fewer steps instead.
  // While training goes on the transfer has the rest of its time.
  Duration const longest = settings_.overlapped ? inner_took_ : inner_took_ + transfer();
  return ready_at_ + std::clamp(longest, settings_.wait_min, settings_.wait_max);
}

Instant PairExchange::propose_until() const {
  if (settings_.overlapped) return latest_match();
  Instant until = ready_at_ + settings_.wait_min;
  for (auto const& [peer, seen] : view_.peers()) {
    auto const known = others_.find(peer);
    bool const out = known != others_.end() && (known->second.dropped || known->second.failed);
    if (seen.counts() && seen.beacon.round == round_ && !out)
      until = std::max(until, finish_estimate(seen, settings_.wait_min) + settings_.wait_min);
  }
  return std::min(until, latest_match());
}

void PairExchange::repeat() {
  bool const offering = (phase_ == PairPhase::proposing && target_) ||
                        phase_ == PairPhase::pulling || phase_ == PairPhase::prepared;
  if (!offering || now_ < said_at_ + repeat_time) return;
  auto const to = target_ ? *target_ : *partner_;
  offer_to(to);
  if (phase_ == PairPhase::prepared) answer(to, round_, MixVerdict::prepared);
}

void PairExchange::ask_again() {
  if (memory_.doubts.empty() || now_ < asked_at_ + repeat_time) return;
  asked_at_ = now_;
  for (auto const& [round, lane, partner] : memory_.doubts)
    if (view_.find(partner) != nullptr) answer(partner, round, MixVerdict::prepared);
}

void PairExchange::offer_to(PeerId const& peer) {
  MixOffer offer = mine_;
  offer.to = peer;
  said_at_ = now_;
  actions_.push_back(pair_action::Send{peer, std::move(offer)});
}

void PairExchange::answer(PeerId const& peer, std::uint64_t round, MixVerdict verdict) {
  MixAnswer answer;
  answer.run = settings_.run;
  answer.round = round;
  answer.lane = settings_.lane;
  answer.to = peer;
  answer.verdict = verdict;
  actions_.push_back(pair_action::Send{peer, std::move(answer)});
}

void PairExchange::refuse_the_rest() {
  for (auto& [peer, known] : others_) {
    if (!known.offer || partner_ == peer) continue;
    known.offer.reset();
    answer(peer, round_, MixVerdict::busy);
  }
}

PairExchange::Other* PairExchange::other(PeerId const& peer) {
  auto const known = others_.find(peer);
  if (known != others_.end()) return &known->second;
  if (others_.size() >= limits::round_peers_max) return nullptr;
  return &others_[peer];
}

bool PairExchange::has_offer(PeerId const& peer) const {
  auto const known = others_.find(peer);
  return known != others_.end() && known->second.offer.has_value();
}

}  // namespace grapevine
