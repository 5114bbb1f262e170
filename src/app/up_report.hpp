// UpReport: what `grapevine up` tells the person in front of it, line by line on standard output:
// how others join, each round in plain words, and at the end a summary. It follows the node from a
// task on the loop and changes nothing.
#pragma once

#include "grapevine/node/node.hpp"
#include "grapevine/runtime/gate.hpp"

#include <optional>
#include <string>

namespace grapevine {

class UpReport {
 public:
  explicit UpReport(Node& node);

  Awaitable<> follow();  // until cancelled
  // Where the status page is: said once there is something to see, a run or a problem.
  void status_page(std::string at) { page_ = std::move(at); }
  // The summary: for a person, or one JSON object. After the node has ended.
  void finish(bool json);

 private:
  Awaitable<> catch_up();
  void say_how_to_join(Snapshot const& snapshot);
  void say_state(Snapshot const& snapshot);
  void say_pause(Snapshot const& snapshot);
  void take(RoundRecord const& round, Snapshot const& snapshot);
  void say_round(RoundRecord const& round, Snapshot const& snapshot);

  Node& node_;
  std::string page_;  // empty once it was said
  Gate changed_gate_;
  bool changed_ = true;
  bool join_said_ = false;
  std::optional<PeerState> state_said_;
  std::string pause_said_;
  std::uint64_t next_round_ = 0;                 // where the ledger is read on from
  std::uint64_t entries_read_ = 0;               // of the ledger
  std::optional<std::uint64_t> entries_before_;  // of earlier starts: they were said then
  std::optional<RoundRecord> first_, last_;
};

}  // namespace grapevine
