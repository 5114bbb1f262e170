// A whole swarm in the simulated world: the production node on every machine, a trainer in each (by
// default the reference trainer), and a record of how every run() ended. The scenario and the
// checks are its user's.
#pragma once

#include "grapevine/node/node.hpp"
#include "grapevine/sim/world.hpp"
#include "grapevine/train/checkpoint.hpp"
#include "grapevine/world/hostile_peer.hpp"
#include "grapevine/world/watched_trainer.hpp"
#include "grapevine/world/witness.hpp"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace grapevine::world {

struct SwarmOptions {
  std::uint64_t seed = 1;
  std::size_t peers = 8;
  std::uint64_t rounds = 10;  // 0: until stopped
  std::uint32_t inner_steps = 20;
  Mixing mixing;
  std::uint32_t shards = 8;
  std::uint32_t hidden = 16;
  sim::LinkRules link{sim::rules::delay(10ms), sim::rules::jitter(20ms)};
  // By machine, where they are not the usual ones.
  std::map<std::size_t, sim::NodeOptions> machines;
  std::map<std::size_t, TrainerFaults> trainers;
  std::map<std::size_t, Allowance> allowances;
  // Another model than the reference trainer's: what the first peer's manifest says of it, and its
  // trainers, by machine. A step must take half a second by their word.
  std::function<void(RunManifest&)> change_run;
  std::function<Result<std::unique_ptr<Trainer>>(std::size_t, RunManifest const&, PeerId const&)>
      make_trainer;
  std::vector<std::set<Bent>> hostile;  // peers beside the others, on the machines after theirs
  bool witness = false;                 // listens on one machine more; nodes keep all checkpoints
};

// A machine on which an inner step of half a second, by its own word, takes as long.
inline constexpr sim::NodeOptions usual_machine{.train = {400ms, 600ms}, .heavy = {1ms, 10ms}};

class Swarm {
 public:
  explicit Swarm(SwarmOptions options);

  sim::World world;
  struct Ending {
    bool ended = false;
    std::string error;  // empty: it was all right
    std::uint64_t round = 0;
    Hash state;
  };
  std::map<std::size_t, Ending> endings;         // by machine; of its latest start
  std::map<std::size_t, TrainerRecord> trained;  // by machine, over all its starts

  [[nodiscard]] Node& node(std::size_t machine);
  [[nodiscard]] bool all_ended() const;
  void add_peer();  // one more, that joins by the first one's address; not beside hostile ones
  // The entries of a machine's ledger; an error names the first that does not verify or does not
  // follow the one before.
  [[nodiscard]] Result<std::vector<Verified<LedgerEntry>>> ledger(std::size_t machine);
  [[nodiscard]] Result<Checkpoint> checkpoint(std::size_t machine, std::uint64_t round);
  [[nodiscard]] Result<Checkpoint> checkpoint(std::size_t machine, std::uint64_t round,
                                              TensorLayout const& layout);
  [[nodiscard]] Testimony const& testimony() const { return testimony_; }

 private:
  [[nodiscard]] std::vector<Multiaddr> addresses() const;
  void add_hostile(std::set<Bent> const& ways);
  void add_witness();

  Testimony testimony_;

  SwarmOptions options_;
};

}  // namespace grapevine::world
