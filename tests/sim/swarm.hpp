// A whole swarm in the simulated world: the production node on every machine, a reference trainer
// in each, and a record of how every run() ended. The scenario and the checks are the test's.
#pragma once

#include "grapevine/node/node.hpp"
#include "grapevine/sim/world.hpp"
#include "grapevine/train/reference_trainer.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace grapevine::test {

struct SwarmOptions {
  std::uint64_t seed = 1;
  std::size_t peers = 8;
  std::uint64_t rounds = 10;
  std::uint32_t inner_steps = 20;
  MixPattern mix = MixPattern::global;
  std::uint32_t hidden = 16;
  std::optional<std::uint64_t> not_finite_at;  // at peer 1
};

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
  std::map<std::size_t, Ending> endings;  // by machine; of its latest start

  [[nodiscard]] Node& node(std::size_t machine);
  [[nodiscard]] bool all_ended() const;
  void add_peer();  // one more, that joins by the first one's address
  // The entries of a machine's ledger, verified one by one.
  [[nodiscard]] std::vector<Verified<LedgerEntry>> ledger(std::size_t machine);
  // The parameters in a machine's checkpoint of that round.
  [[nodiscard]] std::vector<float> checkpoint(std::size_t machine, std::uint64_t round);

 private:
  SwarmOptions options_;
};

}  // namespace grapevine::test
