#include "grapevine/round/swarm_view.hpp"

#include "grapevine/base/limits.hpp"

#include <algorithm>

namespace grapevine {
namespace {

// The version with the most supporters; of equals the lower (round, hash).
std::optional<Version> most_supported(std::map<Version, std::size_t> const& support) {
  std::optional<Version> best;
  std::size_t best_count = 0;
  for (auto const& [version, count] : support) {
    if (count > best_count) {
      best = version;
      best_count = count;
    }
  }
  return best;
}

}  // namespace

std::map<PeerId, PeerView>::const_iterator SwarmView::oldest_stranger() const {
  auto oldest = peers_.end();
  for (auto it = peers_.begin(); it != peers_.end(); ++it)
    if (!it->second.mixed && (oldest == peers_.end() || it->second.seen < oldest->second.seen))
      oldest = it;
  return oldest;
}

bool SwarmView::takes(PeerId const& peer, Beacon const& beacon, Instant now) const {
  if (auto const known = peers_.find(peer); known != peers_.end()) {
    auto const& last = known->second.beacon;
    // A new round is news, however short the rounds are: a newcomer that heard of every third would
    // ask for states that are gone.
    bool const news = beacon.round > last.round;
    return beacon.sequence > last.sequence && (news || known->second.pace.allows(now));
  }
  return peers_.size() < limits::round_peers_max || oldest_stranger() != peers_.end();
}

bool SwarmView::saw(PeerId const& peer, Beacon const& beacon, Instant now) {
  if (!takes(peer, beacon, now)) return false;
  if (!peers_.contains(peer) && peers_.size() >= limits::round_peers_max)
    peers_.erase(oldest_stranger());
  auto& view = peers_.try_emplace(peer, PeerView{beacon, now}).first->second;
  view.beacon = beacon;
  view.seen = now;
  (void)view.pace.take(now);
  return true;
}

void SwarmView::mixed_with(PeerId const& peer) {
  if (auto const known = peers_.find(peer); known != peers_.end()) known->second.mixed = true;
}

void SwarmView::lost(PeerId const& peer) { peers_.erase(peer); }

void SwarmView::expire(Instant now) {
  std::erase_if(peers_, [&](auto const& entry) { return now - entry.second.seen > beacon_ttl_; });
}

PeerView const* SwarmView::find(PeerId const& peer) const {
  auto const it = peers_.find(peer);
  return it == peers_.end() ? nullptr : &it->second;
}

std::vector<PeerId> SwarmView::members(Version const& version) const {
  std::vector<PeerId> found;
  for (auto const& [peer, view] : peers_)
    if (view.counts() && view.version() == version) found.push_back(peer);
  return found;
}

std::vector<PeerId> SwarmView::members_of_round(std::uint64_t round) const {
  std::vector<PeerId> found;
  for (auto const& [peer, view] : peers_)
    if (view.counts() && view.beacon.round == round) found.push_back(peer);
  return found;
}

std::vector<PeerId> SwarmView::holders(Version const& version) const {
  std::vector<PeerId> found;
  for (auto const& [peer, view] : peers_)
    if (view.version() == version && view.beacon.state != PeerState::joining) found.push_back(peer);
  return found;
}

std::optional<Version> SwarmView::ahead(std::uint64_t round) const {
  std::map<Version, std::size_t> support;
  std::size_t counting = 0;
  std::size_t beyond = 0;
  for (auto const& [peer, view] : peers_) {
    if (!view.counts()) continue;
    ++counting;
    if (view.beacon.round <= round) continue;
    ++beyond;
    ++support[view.version()];
  }
  if (beyond == 0 || 2 * beyond < counting) return std::nullopt;
  return most_supported(support);
}

bool SwarmView::all_beyond(std::uint64_t round) const {
  bool any = false;
  for (auto const& [peer, view] : peers_) {
    if (!view.counts()) continue;
    if (view.beacon.round <= round) return false;
    any = true;
  }
  return any;
}

Version SwarmView::agreed(Version const& mine, std::set<Version> const& except) const {
  std::map<Version, std::size_t> support{{mine, 1}};
  for (auto const& [peer, view] : peers_)
    if ((view.counts() || view.beacon.state == PeerState::stopping) &&
        view.beacon.round == mine.round && !except.contains(view.version()))
      ++support[view.version()];
  return *most_supported(support);
}

std::optional<Version> SwarmView::newest() const {
  std::map<Version, std::size_t> counting;
  std::optional<Version> other;
  for (auto const& [peer, view] : peers_) {
    if (view.beacon.state == PeerState::joining || view.beacon.state_hash.is_zero()) continue;
    if (view.counts()) ++counting[view.version()];
    if (!other || view.beacon.round > other->round) other = view.version();
  }
  auto const best = most_supported(counting);
  return best ? best : other;
}

double SwarmView::median_steps_per_s() const {
  std::vector<double> rates;
  for (auto const& [peer, view] : peers_)
    if (view.counts() && view.beacon.steps_per_s > 0) rates.push_back(view.beacon.steps_per_s);
  if (rates.empty()) return 0;
  auto const middle = rates.begin() + static_cast<std::ptrdiff_t>(rates.size() / 2);
  std::nth_element(rates.begin(), middle, rates.end());
  return *middle;
}

}  // namespace grapevine
