// Four peers of which one is away for a while, and what the others' ledgers say of it.
#pragma once

#include "grapevine/base/log.hpp"
#include "grapevine/world/swarm.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

namespace grapevine::test {

inline constexpr std::size_t away = 2;  // the machine of the one that is

inline world::SwarmOptions four_peers(std::uint64_t seed, std::uint64_t rounds) {
  set_log_level(LogLevel::off);
  world::SwarmOptions options;
  options.seed = seed;
  options.peers = 4;
  options.rounds = rounds;
  options.inner_steps = 10;
  options.shards = 4;
  return options;
}

// From `round` on: how many entries of the others' ledgers name that peer as missing, and how many
// as an input.
struct Mentions {
  std::size_t missing = 0;
  std::size_t inputs = 0;
};
inline Mentions mentions_of(world::Swarm& swarm, PeerId const& who, std::uint64_t from = 0) {
  Mentions found;
  auto const is_it = [&](auto const& one) { return one.peer == who; };
  for (std::size_t machine = 0; machine < 4; ++machine) {
    if (machine == away) continue;
    auto const ledger = swarm.ledger(machine);
    REQUIRE(ledger.has_value());
    for (auto const& entry : *ledger) {
      if (entry->round < from) continue;
      found.missing += static_cast<std::size_t>(std::ranges::count_if(entry->missing, is_it));
      found.inputs += static_cast<std::size_t>(std::ranges::count_if(entry->inputs, is_it));
    }
  }
  return found;
}

// In how many states the peers have ended.
inline std::size_t states(world::Swarm const& swarm) {
  std::set<Hash> all;
  for (auto const& [machine, ending] : swarm.endings) all.insert(ending.state);
  return all.size();
}

}  // namespace grapevine::test
