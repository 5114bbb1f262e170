// LinkRule: one property of one direction of a link between two simulated machines. A link is a
// chain of rules; every packet passes them in order, and each may move its arrival, hold it or
// break the connection. Rules may keep state, and may be shared by links (one uplink for many
// peers).
#pragma once

#include "grapevine/base/random.hpp"
#include "grapevine/base/time.hpp"

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

namespace grapevine::sim {

enum class PacketKind : std::uint8_t { connect, accept, data, fin, reset };

struct Packet {
  PacketKind kind = PacketKind::data;
  std::size_t bytes = 0;
};

// What becomes of a packet. It starts with its departure as arrival.
struct Fate {
  Instant arrival{};
  bool held = false;     // does not arrive until the rules change: what TCP repeats until it can
  bool refused = false;  // of a connect
  bool broken = false;   // the connection is reset here, this packet is lost
};

class LinkRule {
 public:
  virtual ~LinkRule() = default;
  virtual void judge(Packet const& packet, Fate& fate, Random& random) = 0;
  // The largest piece the link carries at once.
  [[nodiscard]] virtual std::size_t piece_max() const {
    return std::numeric_limits<std::size_t>::max();
  }
};

using LinkRules = std::vector<std::shared_ptr<LinkRule>>;

namespace rules {

std::shared_ptr<LinkRule> delay(Duration fixed);
std::shared_ptr<LinkRule> jitter(Duration max);               // uniform in [0, max)
std::shared_ptr<LinkRule> rate(std::uint64_t bytes_per_s);    // packets queue behind each other
std::shared_ptr<LinkRule> pieces(std::size_t bytes_max);      // delivers in small chunks
std::shared_ptr<LinkRule> refuse();                           // every connect
std::shared_ptr<LinkRule> hold();                             // a partition, a stalled link
std::shared_ptr<LinkRule> cut_after(std::uint64_t bytes);     // then every connection breaks, once
std::shared_ptr<LinkRule> break_packets(double probability);  // each data packet
std::shared_ptr<LinkRule> slow_connect(Duration extra);

}  // namespace rules
}  // namespace grapevine::sim
