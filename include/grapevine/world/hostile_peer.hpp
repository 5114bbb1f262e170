// A peer that keeps the protocols where it must to be heard, and breaks what it can: on the wire it
// is as real as any, the production host, gossip and blobs with one part bent. It takes part in the
// run that it finds behind its bootstrap address until it is crashed.
#pragma once

#include "grapevine/sim/world.hpp"
#include "grapevine/wire/multiaddr.hpp"

#include <memory>
#include <set>
#include <string_view>
#include <vector>

namespace grapevine::world {

enum class Bent : std::uint8_t {
  bad_signature,   // messages signed by somebody else, or changed after signing
  replay,          // what others and it itself have said before, said again
  equivocation,    // two contributions to one round, each told to all
  oversize,        // shards, counts and frames larger than the run's
  wrong_manifest,  // topics of a run that nobody takes part in, and a manifest that is none
  huge_norm,       // a gradient of huge numbers
  not_finite,      // a gradient with NaN in it
  withheld,        // announces a gradient and serves nobody
  false_bytes,     // serves other bytes and other sizes than it announces
  mesh_spam,       // grafts, prunes, ids and subscriptions without end
  far_round,       // claims to be far ahead, in a state that it gives nobody
};
[[nodiscard]] std::string_view to_string(Bent bent);
inline constexpr std::size_t bent_kinds = 11;

struct HostileOptions {
  std::vector<Multiaddr> bootstrap;  // tried in turn
  std::set<Bent> ways;
};

[[nodiscard]] std::unique_ptr<sim::Program> make_hostile_peer(Doors doors, HostileOptions options);

}  // namespace grapevine::world
