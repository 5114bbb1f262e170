#include "world/faults_detail.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace grapevine::world {
namespace {

namespace rules = sim::rules;

constexpr double kinds_share = 0.3;  // of the kinds of fault, in one world
constexpr std::uint64_t strikes_max = 3;
constexpr Duration calm_at_first = 3s;  // until the first peers have met

// Draws faults of one kind after the other into one list.
class Draw {
 public:
  Draw(Random& random, std::size_t peers, Duration lasting)
      : random_(random), peers_(peers), lasting_(lasting) {}

  void crashes() {
    auto const peer = any();
    add(fmt::format("peer {} crashes", peer), [peer](Swarm& swarm) { swarm.world.crash(peer); });
    later(between(0.5, 10), fmt::format("peer {} starts again", peer),
          [peer](Swarm& swarm) { swarm.world.restart(peer); });
  }

  void power_cuts() {
    auto const peer = any();
    auto const step = 1 + random_.below(60);
    add(fmt::format("peer {} loses its power {} steps of its disk later", peer, step),
        [peer, step](Swarm& swarm) {
          swarm.world.cut_power_at_disk_step(peer, swarm.world.disk_steps(peer) + step);
        });
    later(between(5, 15), fmt::format("peer {} has power", peer), [peer](Swarm& swarm) {
      if (!swarm.world.running(peer)) swarm.world.restart(peer);
    });
  }

  void disk_failures() {
    auto const peer = any();
    auto const step = 1 + random_.below(60);
    add(fmt::format("a step of peer {}'s disk fails, {} from here", peer, step),
        [peer, step](Swarm& swarm) {
          swarm.world.fail_disk_step(peer, swarm.world.disk_steps(peer) + step, Errc::io_failed);
        });
  }

  void full_disks() {
    auto const peer = any();
    add(fmt::format("the disk of peer {} is full", peer),
        [peer](Swarm& swarm) { swarm.world.set_disk_full(peer, true); });
    later(between(0, 15), fmt::format("the disk of peer {} has room", peer),
          [peer](Swarm& swarm) { swarm.world.set_disk_full(peer, false); });
  }

  void partitions() {
    std::vector<std::vector<std::size_t>> groups(2);
    std::string text = "the peers part:";
    for (std::size_t i = 0; i < peers_; ++i) {
      auto const group = random_.below(2);
      groups[group].push_back(i);
      text += fmt::format(" {}", group);
    }
    add(text, [groups](Swarm& swarm) { swarm.world.partition(groups); });
    later(between(0, 20), "they are together again", [](Swarm& swarm) { swarm.world.heal(); });
  }

  void one_way_silences() {
    auto const [one, other] = two();
    add(fmt::format("nothing comes from {} to {}", one, other),
        link(one, other, [] { return sim::LinkRules{rules::hold()}; }));
    reset(one, other, between(0, 20));
  }

  void bad_links() {
    auto const [one, other] = two();
    auto const bytes_per_s = 20'000 + random_.below(500'000);
    auto const delay = between(0, 0.3);
    auto const piece = 1 + random_.below(2000);
    add(fmt::format("from {} to {} {} bytes/s, {:.3f} s late, {} bytes at once", one, other,
                    bytes_per_s, to_seconds(delay), piece),
        link(one, other, [bytes_per_s, delay, piece] {
          return sim::LinkRules{rules::delay(delay), rules::jitter(50ms), rules::rate(bytes_per_s),
                                rules::pieces(piece)};
        }));
    reset(one, other, between(0, 30));
  }

  void breaking_links() {
    auto const [one, other] = two();
    auto const probability = 0.05 * random_.unit();
    add(fmt::format("{:.3f} of the packets from {} to {} break the connection", probability, one,
                    other),
        link(one, other, [probability] {
          return sim::LinkRules{rules::delay(10ms), rules::break_packets(probability)};
        }));
    reset(one, other, between(0, 30));
  }

  void resets_within_a_frame() {
    auto const [one, other] = two();
    auto const bytes = random_.below(100'000);
    add(fmt::format("the connection from {} to {} breaks after {} bytes", one, other, bytes),
        link(one, other,
             [bytes] { return sim::LinkRules{rules::delay(10ms), rules::cut_after(bytes)}; }));
    reset(one, other, between(5, 20));
  }

  void refused_dials() {
    auto const peer = any();
    auto const count = peers_;
    add(fmt::format("peer {} can be dialled by nobody, and loses its connections", peer),
        [peer, count](Swarm& swarm) {
          for (std::size_t i = 0; i < count; ++i) {
            if (i == peer) continue;
            swarm.world.set_link(i, peer, {rules::delay(10ms), rules::refuse()});
            swarm.world.cut_connections(i, peer);
          }
        });
    later(between(1, 15), fmt::format("peer {} can be dialled", peer), [peer, count](Swarm& swarm) {
      for (std::size_t i = 0; i < count; ++i)
        if (i != peer) swarm.world.reset_link(i, peer);
    });
  }

  void slow_dials() {
    auto const [one, other] = two();
    auto const extra = between(1, 20);
    add(fmt::format("a dial from {} to {} takes {:.1f} s more; they are cut", one, other,
                    to_seconds(extra)),
        [one, other, extra](Swarm& swarm) {
          swarm.world.set_link(one, other, {rules::delay(10ms), rules::slow_connect(extra)});
          swarm.world.cut_connections(one, other);
        });
    reset(one, other, between(1, 20));
  }

  void clock_jumps() {
    auto const peer = any();
    auto const by = between(-600, 600);
    add(fmt::format("the wall clock of peer {} jumps by {:+.1f} s", peer, to_seconds(by)),
        [peer, by](Swarm& swarm) { swarm.world.jump_wall_clock(peer, by); });
  }

  std::vector<Fault> take() {
    auto const earlier = [](Fault const& a, Fault const& b) { return a.at < b.at; };
    std::ranges::stable_sort(faults_, earlier);
    return std::move(faults_);
  }

 private:
  using Strike = std::function<void(Swarm&)>;

  std::size_t any() { return random_.below(peers_); }
  std::pair<std::size_t, std::size_t> two() {
    auto const one = any();
    return {one, (one + 1 + random_.below(peers_ - 1)) % peers_};
  }
  Duration between(double low_s, double high_s) {
    return from_seconds(low_s + (high_s - low_s) * random_.unit());
  }
  static Strike link(std::size_t from, std::size_t to, std::function<sim::LinkRules()> make) {
    return [from, to, make = std::move(make)](Swarm& swarm) {
      swarm.world.set_link(from, to, make());
    };
  }
  void add(std::string text, Strike strike) {
    began_ = between(to_seconds(calm_at_first), to_seconds(lasting_));
    faults_.push_back({began_, std::move(text), std::move(strike)});
  }
  // After the one that was added last.
  void later(Duration delay, std::string text, Strike strike) {
    faults_.push_back({std::min(began_ + delay, lasting_), std::move(text), std::move(strike)});
  }
  void reset(std::size_t one, std::size_t other, Duration after) {
    later(after, fmt::format("the link from {} to {} is as before", one, other),
          [one, other](Swarm& swarm) { swarm.world.reset_link(one, other); });
  }

  Random& random_;
  std::size_t peers_;
  Duration lasting_;
  Duration began_{};
  std::vector<Fault> faults_;
};

}  // namespace

bool exists(Random& random) { return random.unit() < kinds_share; }

std::vector<Fault> draw_faults(Random& random, SwarmOptions const& swarm, Duration lasting) {
  Draw draw(random, swarm.peers, lasting);
  for (auto const kind : {&Draw::crashes, &Draw::power_cuts, &Draw::disk_failures,
                          &Draw::full_disks, &Draw::partitions, &Draw::one_way_silences,
                          &Draw::bad_links, &Draw::breaking_links, &Draw::resets_within_a_frame,
                          &Draw::refused_dials, &Draw::slow_dials, &Draw::clock_jumps}) {
    if (!exists(random)) continue;
    for (auto left = 1 + random.below(strikes_max); left > 0; --left) (draw.*kind)();
  }
  return draw.take();
}

}  // namespace grapevine::world
