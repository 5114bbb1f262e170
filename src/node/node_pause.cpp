// Planned absences: why this peer rests, and that the round machine and the others learn of it.

#include "grapevine/base/log.hpp"
#include "node/node_state_detail.hpp"
#include "node/pause_file_detail.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace grapevine {
namespace {

constexpr Duration save_month_every = 1min;  // what a crash may lose

}  // namespace

std::string_view to_string(PauseReason reason) {
  switch (reason) {
    case PauseReason::asked:
      return "asked";
    case PauseReason::quiet_hours:
      return "quiet hours";
    case PauseReason::monthly_quota:
      return "monthly quota";
  }
  return "?";
}

Awaitable<Result<>> Node::State::ask_for_pause(bool pause) {
  auto keep = [this, pause](std::stop_token) { return keep_pause(doors.storage, pause); };
  auto const kept = co_await run_on<Result<>>(doors.heavy, keep);
  if (pause)
    pause_for(PauseReason::asked, std::nullopt);
  else
    pause_no_more_for(PauseReason::asked);
  co_return kept;
}

void Node::State::pause_for(PauseReason reason, std::optional<std::uint64_t> until_unix_s) {
  bool const fresh = pauses.insert_or_assign(reason, until_unix_s).second;
  if (!fresh) return;
  log_info("this peer rests ({})", to_string(reason));
  tell_round_of_pauses();
  changed();
}

void Node::State::pause_no_more_for(PauseReason reason) {
  if (pauses.erase(reason) == 0) return;
  log_info("this peer rests no more ({})", to_string(reason));
  tell_round_of_pauses();
  changed();
}

// With every beat.
void Node::State::pause_as_due() {
  auto const& allowed = options.allowance;
  if (allowed.quiet_hours) {
    auto const at = unix_s();
    auto const offset = allowed.utc_offset_s ? allowed.utc_offset_s(at) : 0;
    auto const left = allowed.quiet_hours->left(static_cast<std::int64_t>(at) + offset);
    if (left)
      pause_for(PauseReason::quiet_hours, at + *left);
    else
      pause_no_more_for(PauseReason::quiet_hours);
  }
  if (allowed.month_bytes == 0) return;
  keep_to_quota(count_traffic());
  Instant const now = doors.clock.now();
  if (month_saved_at && now < *month_saved_at + save_month_every) return;
  month_saved_at = now;
  tasks.spawn(save_month());
}

// What is new since the last time.
std::uint64_t Node::State::count_traffic() {
  auto const counters = host->counters();
  auto const bytes = counters.bytes_in + counters.bytes_out;
  auto const fresh = bytes - std::exchange(counted_bytes, bytes);
  month.add(fresh, unix_s());
  return fresh;
}

// The round that is mixed when the quota ends is still ended, so it ends a round's bytes early.
// What remains then is for beacons and gossip. Of rounds shorter than a beat several come at once.
void Node::State::keep_to_quota(std::uint64_t fresh) {
  auto const reason = PauseReason::monthly_quota;
  auto const quota = options.allowance.month_bytes;
  auto const round_bytes =
      last_mix1.bytes_in + last_mix1.bytes_out + last_mix2.bytes_in + last_mix2.bytes_out;
  if (round_bytes > 0 && !pauses.contains(reason)) month.reserve(std::max(round_bytes, fresh));
  if (!month.uses_up(quota)) {
    pause_no_more_for(reason);
  } else {
    if (!pauses.contains(reason))
      problem(Error(Errc::quota_used_up,
                    fmt::format("{} of {} bytes in this month (UTC), and a round takes {}",
                                month.bytes(), quota, month.reserved())));
    pause_for(reason, month.ends_unix_s());
  }
  bool const mixing = round != nullptr && round->phase() != RoundPhase::paused;
  blobs->serve(!pauses.contains(reason) || mixing);
}

Awaitable<> Node::State::save_month() {
  auto save = [this, kept = month](std::stop_token) { return kept.save(doors.storage); };
  auto const saved = co_await run_on<Result<>>(doors.heavy, save);
  if (!saved) problem(saved.error());
}

void Node::State::tell_round_of_pauses() {
  if (round == nullptr) return;  // told once there is one
  if (paused())
    feed(round_event::Pause{});
  else
    feed(round_event::Resume{state != nullptr && round_is_under_way()});
}

Snapshot::Pause Node::State::longest_pause() const {
  auto const lasts = [](auto const& entry) {
    return entry.second.value_or(std::numeric_limits<std::uint64_t>::max());
  };
  auto const& [reason, until] = *std::ranges::max_element(pauses, {}, lasts);
  return {std::string(to_string(reason)), until};
}

}  // namespace grapevine
