#include "grapevine/sim/link_rule.hpp"

#include "grapevine/base/assert.hpp"

#include <algorithm>

namespace grapevine::sim::rules {
namespace {

class Delay final : public LinkRule {
 public:
  explicit Delay(Duration fixed) : fixed_(fixed) {}
  void judge(Packet const&, Fate& fate, Random&) override { fate.arrival += fixed_; }

 private:
  Duration fixed_;
};

class Jitter final : public LinkRule {
 public:
  explicit Jitter(Duration max) : max_(max) { ASSERT(max > Duration::zero()); }
  void judge(Packet const&, Fate& fate, Random& random) override {
    auto const bound = static_cast<std::uint64_t>(max_.count());
    fate.arrival += Duration(static_cast<Duration::rep>(random.below(bound)));
  }

 private:
  Duration max_;
};

class Rate final : public LinkRule {
 public:
  explicit Rate(std::uint64_t bytes_per_s) : bytes_per_s_(bytes_per_s) { ASSERT(bytes_per_s > 0); }
  void judge(Packet const& packet, Fate& fate, Random&) override {
    // Whole nanoseconds of whole numbers: the same on every machine. 2^34 bytes still fit.
    auto const ns = std::uint64_t{packet.bytes} * 1'000'000'000 / bytes_per_s_;
    busy_until_ = std::max(busy_until_, fate.arrival) + Duration(static_cast<Duration::rep>(ns));
    fate.arrival = busy_until_;
  }

 private:
  std::uint64_t bytes_per_s_;
  Instant busy_until_{};
};

class Pieces final : public LinkRule {
 public:
  explicit Pieces(std::size_t bytes_max) : bytes_max_(bytes_max) { ASSERT(bytes_max > 0); }
  void judge(Packet const&, Fate&, Random&) override {}
  [[nodiscard]] std::size_t piece_max() const override { return bytes_max_; }

 private:
  std::size_t bytes_max_;
};

class Refuse final : public LinkRule {
 public:
  void judge(Packet const& packet, Fate& fate, Random&) override {
    if (packet.kind == PacketKind::connect) fate.refused = true;
  }
};

class Hold final : public LinkRule {
 public:
  void judge(Packet const&, Fate& fate, Random&) override { fate.held = true; }
};

class CutAfter final : public LinkRule {
 public:
  explicit CutAfter(std::uint64_t bytes) : left_(bytes) {}
  void judge(Packet const& packet, Fate& fate, Random&) override {
    if (done_ || packet.kind != PacketKind::data) return;
    done_ = fate.broken = packet.bytes > left_;
    left_ -= std::min<std::uint64_t>(left_, packet.bytes);
  }

 private:
  std::uint64_t left_;
  bool done_ = false;
};

class BreakPackets final : public LinkRule {
 public:
  explicit BreakPackets(double probability) : probability_(probability) {}
  void judge(Packet const& packet, Fate& fate, Random& random) override {
    if (packet.kind == PacketKind::data && random.unit() < probability_) fate.broken = true;
  }

 private:
  double probability_;
};

class SlowConnect final : public LinkRule {
 public:
  explicit SlowConnect(Duration extra) : extra_(extra) {}
  void judge(Packet const& packet, Fate& fate, Random&) override {
    if (packet.kind == PacketKind::connect) fate.arrival += extra_;
  }

 private:
  Duration extra_;
};

}  // namespace

std::shared_ptr<LinkRule> delay(Duration fixed) { return std::make_shared<Delay>(fixed); }
std::shared_ptr<LinkRule> jitter(Duration max) { return std::make_shared<Jitter>(max); }
std::shared_ptr<LinkRule> rate(std::uint64_t bytes_per_s) {
  return std::make_shared<Rate>(bytes_per_s);
}
std::shared_ptr<LinkRule> pieces(std::size_t bytes_max) {
  return std::make_shared<Pieces>(bytes_max);
}
std::shared_ptr<LinkRule> refuse() { return std::make_shared<Refuse>(); }
std::shared_ptr<LinkRule> hold() { return std::make_shared<Hold>(); }
std::shared_ptr<LinkRule> cut_after(std::uint64_t bytes) {
  return std::make_shared<CutAfter>(bytes);
}
std::shared_ptr<LinkRule> break_packets(double probability) {
  return std::make_shared<BreakPackets>(probability);
}
std::shared_ptr<LinkRule> slow_connect(Duration extra) {
  return std::make_shared<SlowConnect>(extra);
}

}  // namespace grapevine::sim::rules
