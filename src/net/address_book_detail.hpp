// AddressBook: where peers can be dialled, and when a failed address may be tried again. Bounded
// in peers and in addresses each; the peer that was of use least recently goes first. Plain
// bookkeeping with the time passed in; owned by the Host.
#pragma once

#include "grapevine/base/limits.hpp"
#include "grapevine/base/time.hpp"
#include "grapevine/wire/multiaddr.hpp"

#include <map>
#include <vector>

namespace grapevine {

class AddressBook {
 public:
  void remember(PeerId const& peer, std::vector<Multiaddr> const& addresses);
  // The last one that worked first; /p2p/ components are left out.
  [[nodiscard]] std::vector<Multiaddr> addresses(PeerId const& peer) const;
  // Those of them that are not backing off.
  [[nodiscard]] std::vector<Multiaddr> dialable(PeerId const& peer, Instant now) const;

  void worked(PeerId const& peer, Multiaddr const& address);
  void failed(PeerId const& peer, Multiaddr const& address, Instant now);
  // Another peer answers there: the address is no good for this one.
  void forget(PeerId const& peer, Multiaddr const& address);

  [[nodiscard]] std::size_t peers() const { return entries_.size(); }

 private:
  struct Known {
    Multiaddr address;
    Duration backoff{};  // zero: has not failed since it last worked
    Instant not_before{};
  };
  struct Entry {
    std::vector<Known> known;
    std::uint64_t used = 0;
  };
  void touch(PeerId const& peer, Entry& entry);
  void evict();

  std::map<PeerId, Entry> entries_;
  std::map<std::uint64_t, PeerId> by_use_;
  std::uint64_t uses_ = 0;
};

}  // namespace grapevine
