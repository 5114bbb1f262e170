// GossipScores: what a router thinks of each peer. Local, never on the wire. Good deeds are capped,
// so that they cannot be saved up to pay for bad ones.
//
//   score = P1 + P2 + P4 + P7                     (gossipsub v1.1, "score function")
//   P1  time in our meshes, capped                P4  -(messages that were not valid)^2
//   P2  messages it brought first, capped         P7  -(misbehaviour above a tolerance)^2
//
// P3 needs a known message rate and P6 punishes peers behind one address: neither is used. Owned by
// the router.
#pragma once

#include "grapevine/base/time.hpp"
#include "grapevine/wire/peer_id.hpp"

#include <map>
#include <string>

namespace grapevine {

namespace gossip_score {
inline constexpr double gossip = -10;    // below: no IHAVE to it, none taken from it, no IWANT
inline constexpr double publish = -50;   // below: our own messages do not go there
inline constexpr double graylist = -80;  // below: nothing from it is read
inline constexpr double opportunistic = 1;

inline constexpr double mesh_second = 0.01;
inline constexpr double mesh_max = 3;
inline constexpr double first_delivery = 0.1;
inline constexpr double first_deliveries_max = 100;
inline constexpr double invalid = -10;
inline constexpr double misbehaviour = -10;
inline constexpr double misbehaviour_tolerated = 6;
}  // namespace gossip_score

class GossipScores {
 public:
  void meshed(PeerId const& peer, std::string const& topic, Instant now);
  void unmeshed(PeerId const& peer, std::string const& topic);
  void delivered_first(PeerId const& peer);
  void sent_invalid(PeerId const& peer);
  void misbehaved(PeerId const& peer, double much = 1);
  // Its good deeds are forgotten, its bad ones kept until they have decayed.
  void left(PeerId const& peer);
  void returned(PeerId const& peer);
  void decay();  // once a heartbeat

  [[nodiscard]] double score(PeerId const& peer, Instant now) const;
  [[nodiscard]] std::size_t size() const { return records_.size(); }

 private:
  struct Record {
    std::map<std::string, Instant> meshed_since;
    double first_deliveries = 0;
    double invalid = 0;
    double misbehaviour = 0;
    bool here = true;
  };
  std::map<PeerId, Record> records_;  // peers that did something; absent: score 0
};

}  // namespace grapevine
