// What must hold in every world, whatever strikes it, seen from outside the nodes. Each check names
// the first thing that is wrong; the run ends with it.
#pragma once

#include "grapevine/world/swarm.hpp"

#include <set>

namespace grapevine::world {

class Checkers {
 public:
  Checkers(Swarm& swarm, SwarmOptions const& options) : swarm_(swarm), options_(options) {}

  // Cheap; to be called after every event. True while all is well.
  bool after_event();
  // Everything a peer shows: now and then, and whenever its state has changed.
  void look();
  // The ledgers, once all peers have stopped.
  void end();

  [[nodiscard]] std::string const& fault() const { return fault_; }
  [[nodiscard]] std::size_t replays() const { return replays_; }  // rounds computed once more
  void blame(std::string fault);

 private:
  // Of one start of a peer.
  struct Seen {
    double uptime_s = 0;
    std::uint64_t round = 0;
    Hash state;
  };

  void look_at(std::size_t machine);
  void check_state(std::size_t machine, Snapshot const& shown, Hash const& state);
  void check_ledger(std::size_t machine);
  void check_entry(std::string const& where, LedgerEntry const& entry);
  void check_merge(std::string const& where, LedgerEntry const& entry);
  void check_pairs();
  [[nodiscard]] bool in_doubt(std::size_t machine) const;
  void replayed(std::string const& where, std::optional<std::string> const& difference);

  Swarm& swarm_;
  SwarmOptions options_;
  std::map<std::size_t, Seen> seen_;
  std::set<std::size_t> has_crashed_;
  std::set<Hash> made_;  // states that a peer has made by an outer step of its own
  using Line = std::pair<std::uint64_t, MixLane>;               // of a ledger: round, lane
  std::map<std::size_t, std::map<Line, LedgerEntry>> entries_;  // by machine
  std::map<PeerId, std::size_t> machines_;
  struct Merge {
    LedgerEntry entry;
    std::string where;
  };
  std::map<std::tuple<std::uint64_t, Hash, Hash>, Merge> by_states_;  // round, before, after
  std::vector<Merge> merges_;
  std::size_t replays_ = 0;
  std::string fault_;
};

}  // namespace grapevine::world
