// Who averages which shard.

#include "grapevine/round/butterfly.hpp"

#include <algorithm>

namespace grapevine {
namespace {

Hash rendezvous(Hash const& run, std::uint64_t round, std::uint32_t shard, PeerId const& peer) {
  Bytes input(run.view().begin(), run.view().end());
  append_be(input, round);
  append_be(input, shard);
  append(input, peer.bytes());
  return sha256(input);
}

}  // namespace

std::vector<std::vector<PeerId>> Butterfly::reducers(Hash const& run, std::uint64_t round,
                                                     std::uint32_t shards,
                                                     std::vector<PeerId> const& peers) {
  std::vector<std::vector<PeerId>> orders;
  std::map<PeerId, std::uint32_t> loads;
  for (std::uint32_t shard = 0; shard < shards; ++shard) {
    std::vector<std::pair<Hash, PeerId>> ranked;
    for (auto const& peer : peers) ranked.emplace_back(rendezvous(run, round, shard, peer), peer);
    std::ranges::sort(ranked);
    auto const load = [&](auto const& entry) { return loads[entry.second]; };
    auto const first = std::ranges::min_element(ranked, {}, load);
    ++loads[first->second];
    std::rotate(ranked.begin(), first, first + 1);
    auto& order = orders.emplace_back();
    for (auto const& [hash, peer] : ranked) order.push_back(peer);
  }
  return orders;
}

// Beside those expected, those who are done with this round, be it the last: what they had to
// average they have announced. And those still to come, where they are waited for. Who averages
// what must not change whenever somebody goes from one round to the next: every change costs pulls
// in vain.
std::vector<PeerId> Butterfly::responsible() const {
  auto const here = expected();
  std::set<PeerId> peers(here.begin(), here.end());
  for (auto const& [peer, view] : view_.peers()) {
    auto const round = view.beacon.round;
    bool const done = round == version_.round + 1;
    bool const comes = settings_.overlapped && round + 1 == version_.round;
    bool const ended = done && view.beacon.state == PeerState::stopping;
    if (ended || (view.counts() && (done || comes))) peers.insert(peer);
  }
  return {peers.begin(), peers.end()};
}

}  // namespace grapevine
