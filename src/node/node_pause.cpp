// Planned absences: why this peer rests, and that the round machine and the others learn of it.

#include "grapevine/base/log.hpp"
#include "node/node_state_detail.hpp"
#include "node/pause_file_detail.hpp"

#include <algorithm>
#include <limits>

namespace grapevine {

std::string_view to_string(PauseReason reason) {
  switch (reason) {
    case PauseReason::asked:
      return "asked";
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
