// PeerStore: the peers this one has met and where (peers.db), so that a restarted peer finds its
// swarm without a bootstrap; and the sequence numbers it has used, which must never be used again.
// Blocking: used on the heavy worker only. Bounded: the peers heard of longest ago are forgotten.
#pragma once

#include "grapevine/runtime/storage.hpp"
#include "grapevine/wire/multiaddr.hpp"

#include <memory>

namespace grapevine {

class PeerStore {
 public:
  struct Known {
    PeerId peer;
    std::vector<Multiaddr> addresses;
    bool operator==(Known const&) const = default;
  };
  static Result<std::unique_ptr<PeerStore>> open(Storage& storage);

  [[nodiscard]] std::string const& set_aside() const { return set_aside_; }
  Result<> remember(std::vector<Known> const& peers, double now_unix_s);
  Result<std::vector<Known>> recent(std::size_t max);
  // The first of a block of sequence numbers above every one handed out before, clock or no clock.
  Result<std::uint64_t> reserve_sequence(std::uint64_t unix_ns);

 private:
  std::unique_ptr<Database> database_;
  std::string set_aside_;
};

}  // namespace grapevine
