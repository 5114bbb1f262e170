// TimedTransfers: transfers over shared links in virtual time. One that fails does so at a byte
// that is drawn, so that it has cost its share of the link. One thread.
#pragma once

#include "grapevine/base/random.hpp"
#include "grapevine/sim/shared_links.hpp"
#include "grapevine/sim/virtual_time.hpp"

#include <functional>
#include <map>
#include <optional>
#include <vector>

namespace grapevine {

class TimedTransfers {
 public:
  // `time` and `random` outlive this.
  TimedTransfers(sim::VirtualTime& time, std::vector<sim::LinkRates> peers, Random& random);

  struct Ended {
    bool here = false;  // all of it; else it failed, or `deadline` came
    double bytes = 0;   // that were carried
  };
  using Done = std::function<void(Ended)>;

  // Calls `done` once.
  sim::SharedLinks::Transfer start(std::size_t from, std::size_t to, std::uint64_t bytes,
                                   bool fails, Instant deadline, Done done);
  // Without calling `done`: the bytes that were carried, 0 if it has ended.
  double stop(sim::SharedLinks::Transfer transfer);
  [[nodiscard]] sim::SharedLinks const& links() const { return links_; }

 private:
  struct UnderWay {
    Ended ended;
    Done done;
  };

  std::optional<UnderWay> take(sim::SharedLinks::Transfer transfer);
  void look_at(Instant due);
  void settle();

  sim::VirtualTime& time_;
  sim::SharedLinks links_;
  Random& random_;
  std::map<sim::SharedLinks::Transfer, UnderWay> under_way_;
  std::optional<Instant> look_at_;
};

}  // namespace grapevine
