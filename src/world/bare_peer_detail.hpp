// A peer that is no node: the production host, gossip and blobs, and the run it has found. What it
// does there is its owner's.
#pragma once

#include "grapevine/net/blob_exchange.hpp"
#include "grapevine/net/pubsub.hpp"
#include "grapevine/wire/manifest.hpp"

#include <map>
#include <vector>

namespace grapevine::world {

class BarePeer {
 public:
  BarePeer(Doors its_doors, std::vector<Multiaddr> bootstrap);

  Result<> start();
  // Looks for the run behind the bootstrap addresses, in turn, until it is found.
  Awaitable<> join();
  // Dials those of the bootstrap addresses that it has lost.
  Awaitable<> keep_connected();
  [[nodiscard]] std::string topic(std::string_view name) const;
  void publish(std::string_view name, ByteView message);

  Doors doors;
  Identity identity;
  Host host;
  PubSub pubsub;
  BlobExchange blobs;
  SignedManifest manifest;  // once it has joined

 private:
  Awaitable<Result<>> find_run(Multiaddr address);

  std::vector<Multiaddr> bootstrap_;
  std::map<Multiaddr, PeerId> met_;  // who answered where
};

}  // namespace grapevine::world
