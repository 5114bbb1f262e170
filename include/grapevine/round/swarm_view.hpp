// SwarmView: what this peer believes of the others, from their beacons. A belief, not a truth: two
// peers may hold different views, and nothing here has to agree. Pure; bounded by
// limits::round_peers_max: the stranger heard from longest ago makes room, never a peer with whom a
// round was mixed.
#pragma once

#include "grapevine/base/limits.hpp"
#include "grapevine/base/time.hpp"
#include "grapevine/base/token_bucket.hpp"
#include "grapevine/wire/messages.hpp"

#include <map>
#include <optional>
#include <set>
#include <vector>

namespace grapevine {

// A point in the history of the model: the outer version and the hash of its state.
struct Version {
  std::uint64_t round = 0;
  Hash state;
  auto operator<=>(Version const&) const = default;
};

struct PeerView {
  Beacon beacon;
  Instant seen{};
  TokenBucket pace{limits::beacons_per_author_per_s, limits::beacons_per_author_burst, seen};
  bool mixed = false;  // what it trained is in our model

  [[nodiscard]] Version version() const { return {beacon.round, beacon.state_hash}; }
  // Trains from an agreed state and will contribute; a syncing or paused peer does not.
  [[nodiscard]] bool counts() const {
    return beacon.state == PeerState::training || beacon.state == PeerState::mixing;
  }
};

class SwarmView {
 public:
  explicit SwarmView(Duration beacon_ttl) : beacon_ttl_(beacon_ttl) {}

  // Whether saw() would take it: it is newer than the one known of that peer, tells of a new round
  // or does not come faster than limits::beacons_per_author_per_s, and there is room for its
  // author.
  [[nodiscard]] bool takes(PeerId const& peer, Beacon const& beacon, Instant now) const;
  bool saw(PeerId const& peer, Beacon const& beacon, Instant now);
  void mixed_with(PeerId const& peer);
  void lost(PeerId const& peer);
  void expire(Instant now);

  [[nodiscard]] std::map<PeerId, PeerView> const& peers() const { return peers_; }
  [[nodiscard]] PeerView const* find(PeerId const& peer) const;
  // The peers that train from `version` and count.
  [[nodiscard]] std::vector<PeerId> members(Version const& version) const;
  // The peers that are in `round`, whatever their state, and count.
  [[nodiscard]] std::vector<PeerId> members_of_round(std::uint64_t round) const;
  // The peers that can serve the state of `version` (they are at it, counting or not).
  [[nodiscard]] std::vector<PeerId> holders(Version const& version) const;
  // Where the others are. Of the counting peers beyond `round`, if at least half of all counting
  // peers are there: the version most of them are at (then the lower hash). A lone liar that claims
  // a far round moves nobody while others count.
  [[nodiscard]] std::optional<Version> ahead(std::uint64_t round) const;
  // True when peers count and every one of them is in a later round than `round`.
  [[nodiscard]] bool all_beyond(std::uint64_t round) const;
  // The version most peers of `mine.round` are at (those that finished too), this peer counted as
  // one of them and the versions in `except` left aside; ties go to the lower hash, so that both
  // sides of a tie agree.
  [[nodiscard]] Version agreed(Version const& mine, std::set<Version> const& except = {}) const;
  // The newest version any peer is at, counting or not: for a newcomer without a state.
  [[nodiscard]] std::optional<Version> newest() const;
  // Median of the inner-step rates that counting peers report; 0 when nobody does.
  [[nodiscard]] double median_steps_per_s() const;

 private:
  [[nodiscard]] std::map<PeerId, PeerView>::const_iterator oldest_stranger() const;

  Duration beacon_ttl_;
  std::map<PeerId, PeerView> peers_;
};

}  // namespace grapevine
