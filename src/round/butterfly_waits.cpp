// How long a mixing waits, and for what.

#include "grapevine/round/butterfly.hpp"
#include "round/estimates_detail.hpp"

#include <algorithm>

namespace grapevine {

Duration Butterfly::transfer() const {
  // Out and back: every shard of everyone once in, every result once in.
  return transfer_estimate(settings_.payload_bytes, bytes_per_s_,
                           {settings_.wait_min, settings_.wait_max});
}

void Butterfly::set_deadlines() {
  Duration const transfer = this->transfer();
  Instant until = collect_started_ + settings_.wait_min;
  std::size_t here = 1;
  std::size_t still_training = 0;
  for (auto const& peer : expected())
    if (contribution_of(peer) == nullptr) {
      ++still_training;
      until = std::max(until, finish_estimate(*view_.find(peer), settings_.wait_min) + transfer);
    } else {
      ++here;
      until = std::max(until, collect_started_ + transfer);
    }
  Duration const ours = std::clamp(inner_took_ + transfer, settings_.wait_min, settings_.wait_max);
  if (some_come_later()) until = std::max(until, collect_started_ + ours);
  // The few are waited for no longer than we trained ourselves: slower peers take fewer steps
  // instead. Not so most of the swarm: one that is faster than all would make every round alone.
  Duration const longest = still_training > here ? settings_.wait_max : ours;
  // What was granted is not taken back: when the last one arrives the wait ends now, not in the
  // past.
  Instant const granted = std::min(collect_until_, now_);
  collect_until_ = std::max(std::min(until, collect_started_ + longest), granted);
  auto const little = settings_.wait_min;
  if (inputs_pending())
    collect_until_ = std::max(collect_until_, inputs_wait_.until(settings_.wait_max, little));
  set_give_up(std::max(settings_.wait_min, 2 * transfer));
}

// `grace`: between the time when a result is overdue and the end, with others stepping in.
void Butterfly::set_give_up(Duration grace) {
  Instant const granted = std::min(give_up_, now_ + grace);
  Instant until = collect_until_;
  if (results_pending())
    until = std::max(until, results_wait_.until(2 * settings_.wait_max, settings_.wait_min));
  for (auto const& shard : book().shards)
    if (shard.inputs_until && !shard.averaged) until = std::max(until, *shard.inputs_until);
  grace_ = grace;
  give_up_ = std::max(until + grace, granted);
  overdue_at_ = give_up_ - grace / 2;
}

// An estimate rests on what the links carried before. What comes shows what they carry now.
void Butterfly::note_progress() {
  auto const here = contributors();
  std::set<PeerId> coming(here.begin(), here.end());
  for (auto const& peer : expected()) coming.insert(peer);
  std::size_t inputs = 0, inputs_here = 0, results = 0;
  for (std::uint32_t i = 0; i < settings_.shards; ++i) {
    if (result_settled(i)) ++results;
    if (rank_in(i) > 0) continue;
    inputs += coming.size();
    for (auto const& peer : here)
      if (arrival(input_of(*contribution_of(peer), i)) == Arrival::here) ++inputs_here;
  }
  inputs_wait_.count(inputs_here, inputs, now_);
  results_wait_.count(results, settings_.shards, now_);
}

bool Butterfly::inputs_pending() const {
  for (std::uint32_t i = 0; i < settings_.shards; ++i)
    if (rank_in(i) == 0 && inputs_pending(i)) return true;
  return false;
}

bool Butterfly::inputs_pending(std::uint32_t index) const {
  return std::ranges::any_of(contributors(), [&](PeerId const& peer) {
    bool const gone = peer != settings_.self && view_.find(peer) == nullptr;
    return !gone && arrival(input_of(*contribution_of(peer), index)) == Arrival::wanted;
  });
}

// One is on its way here, or whose turn it is has what is needed to make it. What others announce
// is worth no longer wait.
bool Butterfly::results_pending() const {
  for (std::uint32_t i = 0; i < settings_.shards; ++i) {
    auto const& shard = book().shards[i];
    if (shard.before_us.empty()) continue;
    auto const* const chosen = best(i);
    if (chosen != nullptr && is_first(*chosen)) {
      if (arrival(result_of(*chosen)) != Arrival::here) return true;
      continue;
    }
    if (chosen == nullptr ? left_out(i) : best_here(i) != nullptr) continue;
    auto const& reducer = shard.before_us.front();
    auto const* const seen = view_.find(reducer);
    bool const mixes = seen != nullptr && seen->beacon.state == PeerState::mixing;
    if (mixes && contribution_of(reducer) != nullptr && !shard.bad_reducers.contains(reducer))
      return true;
  }
  return false;
}

// What one of those before us may take, and then what a successor may take for its inputs.
Duration Butterfly::turn() const {
  return std::max<Duration>(settings_.wait_min / 2, transfer() / 2);
}

// While there is training to be done anyway, waiting for those still in the round before costs
// nothing.
bool Butterfly::some_come_later() const {
  return settings_.overlapped && std::ranges::any_of(view_.peers(), [this](auto const& entry) {
           return entry.second.counts() && entry.second.beacon.round + 1 == version_.round;
         });
}

bool Butterfly::inputs_settled(std::uint32_t index) const {
  if (now_ >= collect_until_) return true;
  if (some_come_later()) return false;
  for (auto const& peer : expected())
    if (contribution_of(peer) == nullptr) return false;
  return !inputs_pending(index);
}

}  // namespace grapevine
