#include "grapevine/sim/shared_links.hpp"

#include "grapevine/base/assert.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace grapevine::sim {
namespace {

// Instants are whole nanoseconds: what would end within this of one has ended. So transfers that
// are alike end together, whatever their sums were rounded to.
constexpr double end_tolerance_s = 1e-6;

// One direction of a peer's link while the rates are shared out.
struct Direction {
  double free = 0;                 // bytes a second
  std::size_t open = 0;            // flows on it that have no rate yet
  std::vector<std::size_t> flows;  // their places

  [[nodiscard]] double share() const { return free / static_cast<double>(open); }
};

}  // namespace

SharedLinks::SharedLinks(std::vector<LinkRates> peers)
    : peers_(std::move(peers)), sent_(peers_.size()), received_(peers_.size()) {
  for (auto const& peer : peers_) ASSERT(peer.up > 0 && peer.down > 0);
}

SharedLinks::Transfer SharedLinks::start(std::size_t from, std::size_t to, double bytes,
                                         Instant now) {
  ASSERT(from < peers_.size() && to < peers_.size() && from != to);
  move(now);
  flows_[next_] = {.from = from, .to = to, .bytes = bytes, .left = bytes};
  shared_ = false;
  return next_++;
}

double SharedLinks::cancel(Transfer transfer, Instant now) {
  move(now);
  auto const flow = flows_.extract(transfer);
  ASSERT(!flow.empty());
  shared_ = false;
  return flow.mapped().bytes - flow.mapped().left;
}

std::vector<SharedLinks::Transfer> SharedLinks::take_ended(Instant now) {
  move(now);
  share();
  std::vector<Transfer> ended;
  std::erase_if(flows_, [&](auto const& entry) {
    auto const& [transfer, flow] = entry;
    if (flow.left > flow.rate * end_tolerance_s) return false;
    ended.push_back(transfer);
    return true;
  });
  if (!ended.empty()) shared_ = false;
  return ended;
}

std::optional<Instant> SharedLinks::next_end() {
  share();
  if (flows_.empty()) return std::nullopt;
  double soonest = std::numeric_limits<double>::infinity();
  for (auto const& [transfer, flow] : flows_) soonest = std::min(soonest, flow.left / flow.rate);
  return moved_ + Duration(static_cast<std::int64_t>(std::ceil(std::max(0.0, soonest) * 1e9)));
}

void SharedLinks::move(Instant now) {
  ASSERT(now >= moved_);
  if (now == moved_) return;
  share();
  double const passed = to_seconds(now - moved_);
  for (auto& [transfer, flow] : flows_) {
    double const bytes = std::min(flow.left, flow.rate * passed);
    flow.left -= bytes;
    sent_[flow.from] += bytes;
    received_[flow.to] += bytes;
  }
  moved_ = now;
}

// Again and again the direction that gives each of its flows the least settles what they get; the
// rest is for those that remain.
void SharedLinks::share() {
  if (std::exchange(shared_, true)) return;
  std::vector<Direction> directions(2 * peers_.size());
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    directions[2 * i].free = peers_[i].up;
    directions[2 * i + 1].free = peers_[i].down;
  }
  std::vector<Flow*> flows;
  for (auto& [transfer, flow] : flows_) {
    flow.rate = 0;
    for (auto const direction : {2 * flow.from, 2 * flow.to + 1}) {
      directions[direction].flows.push_back(flows.size());
      ++directions[direction].open;
    }
    flows.push_back(&flow);
  }
  while (true) {
    Direction* tightest = nullptr;
    for (auto& direction : directions)
      if (direction.open > 0 && (tightest == nullptr || direction.share() < tightest->share()))
        tightest = &direction;
    if (tightest == nullptr) return;
    double const rate = tightest->share();
    for (auto const place : tightest->flows) {
      auto& flow = *flows[place];
      if (flow.rate > 0) continue;
      flow.rate = rate;
      for (auto const direction : {2 * flow.from, 2 * flow.to + 1}) {
        directions[direction].free -= rate;
        --directions[direction].open;
      }
    }
  }
}

}  // namespace grapevine::sim
