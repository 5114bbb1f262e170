// SharedLinks: the time that transfers take when every peer has one link to the rest of the world,
// with a rate up and a rate down. Bytes flow like a fluid: the transfers that share a link share it
// fairly, and what one cannot use, because its other end is slower, is left to the others (max-min
// fairness by progressive filling, Bertsekas and Gallager, Data Networks, section 6.5.2), which is
// what TCP streams come to in the long run. No latency, no losses. Pure: instants in, and the next
// instant at which something ends out.
#pragma once

#include "grapevine/base/time.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace grapevine::sim {

// Of one peer, bytes a second, full duplex.
struct LinkRates {
  double up = 0;
  double down = 0;
};

class SharedLinks {
 public:
  using Transfer = std::uint64_t;  // in the order in which they were started

  // All rates > 0.
  explicit SharedLinks(std::vector<LinkRates> peers);

  // `now` never goes back.
  Transfer start(std::size_t from, std::size_t to, double bytes, Instant now);
  // It has not ended. Returns the bytes that it has carried.
  double cancel(Transfer transfer, Instant now);
  // Those that have ended since the last call, in the order in which they were started.
  [[nodiscard]] std::vector<Transfer> take_ended(Instant now);
  // When the first of those under way will end, if none is started before.
  [[nodiscard]] std::optional<Instant> next_end();
  // So far, by the peer.
  [[nodiscard]] double sent(std::size_t peer) const { return sent_[peer]; }
  [[nodiscard]] double received(std::size_t peer) const { return received_[peer]; }

 private:
  struct Flow {
    std::size_t from = 0;
    std::size_t to = 0;
    double bytes = 0;
    double left = 0;  // of them
    double rate = 0;
  };

  void move(Instant now);
  void share();

  std::vector<LinkRates> peers_;
  std::vector<double> sent_;
  std::vector<double> received_;
  std::map<Transfer, Flow> flows_;
  Transfer next_ = 0;
  Instant moved_{};
  bool shared_ = true;  // the rates are those of the flows there are
};

}  // namespace grapevine::sim
