// A snapshot with something in every field, for the tests of what is made from it.
#pragma once

#include "grapevine/node/snapshot.hpp"
#include "grapevine/status/resources.hpp"

namespace grapevine {

inline PeerId sample_peer(std::uint8_t digit) {
  std::array<std::uint8_t, 32> key{};
  key[0] = digit;
  return PeerId::from_ed25519(key);
}

inline Snapshot::Peer known_peer(std::uint8_t digit) {
  Snapshot::Peer peer;
  peer.id = sample_peer(digit);
  return peer;
}

inline RoundRecord round_record(std::uint64_t round, float loss) {
  RoundRecord record;
  record.round = round;
  record.loss = loss;
  return record;
}

inline Resources resident(std::uint64_t bytes) {
  Resources resources;
  resources.rss_bytes = bytes;
  return resources;
}

inline Snapshot sample_snapshot() {
  Snapshot snapshot;
  snapshot.id = sample_peer(1);
  snapshot.name = "kitchen";
  snapshot.uptime_s = 12.5;
  snapshot.addresses.push_back(
      Multiaddr::tcp_address({IpAddress::v4(192, 168, 1, 7), 4001}).with_peer(snapshot.id));
  snapshot.reachability = Reachability::private_network;
  snapshot.run.emplace().name = "fortunes";
  snapshot.run_id.bytes[0] = 0xab;
  snapshot.state = PeerState::mixing;
  snapshot.round.current = 3;
  snapshot.round.inner_steps = 100;
  snapshot.round.mix1.state = "off";
  snapshot.round.mix2.state = "collecting";
  snapshot.round.mix2.participants = {sample_peer(1), sample_peer(2)};
  snapshot.round.mix2.missing = {{sample_peer(3), "no contribution before the deadline"}};
  snapshot.consensus.js = 0.25;
  snapshot.training.loss = 2.5F;
  snapshot.training.eval_loss = 2.75F;
  auto& attic = snapshot.peers.emplace_back(known_peer(2));
  attic.name = "attic";
  attic.agent = "grapevine/0.1.0";
  attic.state = PeerState::training;
  attic.connected = true;
  snapshot.network.mesh = {{"grapevine/ab/beacon", 3}};
  snapshot.network.rejected = {{"bad signature", 2}};
  snapshot.queues["heavy"] = {1, 64};
  snapshot.errors.push_back({"GV-NET-001", 2, 1.5, "connection refused", "Check the port"});
  snapshot.config["device"] = "cpu";
  return snapshot;
}

}  // namespace grapevine
