#include "app/timed_transfers.hpp"

#include <utility>

namespace grapevine {

TimedTransfers::TimedTransfers(sim::VirtualTime& time, std::vector<sim::LinkRates> peers,
                               Random& random)
    : time_(time), links_(std::move(peers)), random_(random) {}

sim::SharedLinks::Transfer TimedTransfers::start(std::size_t from, std::size_t to,
                                                 std::uint64_t bytes, bool fails, Instant deadline,
                                                 Done done) {
  double const carried = static_cast<double>(bytes) * (fails ? random_.unit() : 1);
  auto const transfer = links_.start(from, to, carried, time_.now());
  under_way_[transfer] = {{!fails, carried}, std::move(done)};
  auto const give_up = [this, transfer] {
    if (auto const late = take(transfer)) late->done(late->ended);
  };
  time_.at(deadline, give_up);
  look_at(time_.now());
  return transfer;
}

double TimedTransfers::stop(sim::SharedLinks::Transfer transfer) {
  auto const stopped = take(transfer);
  return stopped ? stopped->ended.bytes : 0;
}

// Off the links, if it is still under way.
std::optional<TimedTransfers::UnderWay> TimedTransfers::take(sim::SharedLinks::Transfer transfer) {
  auto found = under_way_.extract(transfer);
  if (found.empty()) return std::nullopt;
  found.mapped().ended = {false, links_.cancel(transfer, time_.now())};
  look_at(time_.now());
  return std::move(found.mapped());
}

// Transfers that start at one instant are looked at once.
void TimedTransfers::look_at(Instant due) {
  if (look_at_ && *look_at_ <= due) return;
  look_at_ = due;
  time_.at(due, [this, due] {
    if (look_at_ != due) return;
    look_at_.reset();
    settle();
  });
}

void TimedTransfers::settle() {
  std::vector<UnderWay> ended;
  for (auto const transfer : links_.take_ended(time_.now()))
    ended.push_back(std::move(under_way_.extract(transfer).mapped()));
  for (auto const& one : ended) one.done(one.ended);
  if (auto const next = links_.next_end()) look_at(*next);
}

}  // namespace grapevine
