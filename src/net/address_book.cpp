#include "address_book_detail.hpp"

#include <algorithm>

namespace grapevine {

void AddressBook::touch(PeerId const& peer, Entry& entry) {
  by_use_.erase(entry.used);
  entry.used = ++uses_;
  by_use_.emplace(entry.used, peer);
}

void AddressBook::evict() {
  auto const oldest = by_use_.begin();
  entries_.erase(oldest->second);
  by_use_.erase(oldest);
}

void AddressBook::remember(PeerId const& peer, std::vector<Multiaddr> const& addresses) {
  if (addresses.empty() || peer.empty()) return;
  if (!entries_.contains(peer) && entries_.size() >= limits::address_book_peers_max) evict();
  auto& entry = entries_[peer];
  touch(peer, entry);
  for (auto const& address : addresses) {
    auto const bare = address.without_peer();
    auto const same = [&bare](Known const& one) { return one.address == bare; };
    if (bare.empty() || std::any_of(entry.known.begin(), entry.known.end(), same)) continue;
    if (entry.known.size() >= limits::address_book_addresses_max) entry.known.pop_back();
    entry.known.push_back({bare, {}, {}});
  }
}

std::vector<Multiaddr> AddressBook::addresses(PeerId const& peer) const {
  std::vector<Multiaddr> all;
  if (auto const at = entries_.find(peer); at != entries_.end())
    for (auto const& one : at->second.known) all.push_back(one.address);
  return all;
}

std::vector<Multiaddr> AddressBook::dialable(PeerId const& peer, Instant now) const {
  std::vector<Multiaddr> all;
  if (auto const at = entries_.find(peer); at != entries_.end())
    for (auto const& one : at->second.known)
      if (one.not_before <= now) all.push_back(one.address);
  return all;
}

void AddressBook::worked(PeerId const& peer, Multiaddr const& address) {
  remember(peer, {address});
  auto const at = entries_.find(peer);
  if (at == entries_.end()) return;
  auto& known = at->second.known;
  auto const bare = address.without_peer();
  auto const one = std::find_if(known.begin(), known.end(),
                                [&bare](Known const& entry) { return entry.address == bare; });
  if (one == known.end()) return;
  one->backoff = {};
  one->not_before = {};
  std::rotate(known.begin(), one, one + 1);
}

void AddressBook::failed(PeerId const& peer, Multiaddr const& address, Instant now) {
  auto const at = entries_.find(peer);
  if (at == entries_.end()) return;
  auto const bare = address.without_peer();
  for (auto& one : at->second.known) {
    if (one.address != bare) continue;
    one.backoff = std::clamp(2 * one.backoff, limits::dial_backoff_min, limits::dial_backoff_max);
    one.not_before = now + one.backoff;
  }
}

void AddressBook::forget(PeerId const& peer, Multiaddr const& address) {
  auto const at = entries_.find(peer);
  if (at == entries_.end()) return;
  auto const bare = address.without_peer();
  std::erase_if(at->second.known, [&bare](Known const& one) { return one.address == bare; });
  if (!at->second.known.empty()) return;
  by_use_.erase(at->second.used);
  entries_.erase(at);
}

}  // namespace grapevine
