// A swarm of Round and PairExchange machines in virtual time, with one exchange of parameters and
// gradients together or with one of each, over a network that delays, reorders
// and loses messages. A model is one number, in double: what the machines decide is done to it, so
// that the sum over the swarm can be compared with the one of peers that never exchanged anything.
#pragma once

#include "unit/round/round_world.hpp"

namespace grapevine::test {

// An outer step in plain numbers.
struct Outer {
  double z = 0;
  double v = 0;
  void step(double d) {
    v = mu * v + d;
    z -= lr * (d + mu * v);
  }
  static constexpr double lr = 0.7;
  static constexpr double mu = 0.9;
};

class PairWorld : public sim::VirtualTime {
 public:
  struct Doubt {
    double dz = 0;
    double dv = 0;
    bool confirmed = false;
  };
  struct Peer {
    std::unique_ptr<Round> round;
    std::map<MixLane, std::unique_ptr<PairExchange>> pairs;
    bool alive = true;
    bool finished = false;
    bool serves = true;
    Duration step_time = 50ms;
    std::uint64_t sequence = 0;
    std::uint64_t life = 0;  // grows with each restart: what was under way before is void
    std::uint64_t inner_generation = 0;
    std::uint32_t steps = 0;
    Instant inner_started{};
    Outer model;
    Outer alone;  // the same gradients, never exchanged
    double d = 0;
    std::map<PairKey, Doubt> doubts;
    std::set<PairKey> decisions;             // on its disk
    std::map<PairKey, std::uint64_t> pulls;  // the newest of each exchange
    std::map<std::uint64_t, round_action::Apply> applied;
    std::size_t syncs = 0;
  };
  struct Served {
    double z = 0;
    double d = 0;
  };

  PairWorld(std::size_t count, std::uint64_t seed, std::uint64_t rounds, bool joint = true)
      : random_(seed) {
    settings_.run = sha256(as_bytes("run " + std::to_string(seed)));
    settings_.mixing.mix1 = settings_.mixing.mix2 = MixPattern::pair;
    settings_.mixing.joint = joint;
    settings_.shards = 1;
    settings_.inner_steps = 20;
    settings_.rounds = rounds;
    settings_.mix1_bytes = settings_.mix2_bytes = 1000;
    settings_.wait_min = 2s;
    settings_.wait_max = 60s;
    settings_.beacon_ttl = 12s;
    peers_.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      peers_[i].model = peers_[i].alone = {random_.unit() * 10, 0};
      build(i, 0);
    }
  }

  void start_all() {
    for (std::size_t i = 0; i < peers_.size(); ++i) begin(i);
  }
  void kill(std::size_t i) {
    peers_[i].alive = false;
    ++peers_[i].life;
    for (std::size_t j = 0; j < peers_.size(); ++j)
      if (j != i) later(latency(), [=, this] { feed_lost(j, i); });
  }
  // The process ends and starts again from what its disk holds: the state between two rounds.
  void restart(std::size_t i) {
    auto const round = peers_[i].round->version().round;
    ++peers_[i].life;
    build(i, round);
    begin(i);
  }

  // Everybody has finished and no exchange is in doubt.
  [[nodiscard]] bool at_rest() const {
    for (auto const& peer : peers_)
      if (peer.alive && (!peer.finished || !peer.doubts.empty())) return false;
    return true;
  }
  [[nodiscard]] bool all_finished() const {
    for (auto const& peer : peers_)
      if (peer.alive && !peer.finished) return false;
    return true;
  }
  // How far the sum over the swarm is from that of peers that never exchanged, relative to the sum
  // of magnitudes.
  [[nodiscard]] double sum_error() const {
    double difference = 0, size = 1;
    for (auto const& peer : peers_) {
      difference += peer.model.z - peer.alone.z;
      size += std::abs(peer.alone.z);
    }
    return std::abs(difference) / size;
  }
  // Exchanges that one living side has applied and the other has not.
  [[nodiscard]] std::size_t one_sided() const {
    std::size_t found = 0;
    for (auto const& [pair, sides] : exchanged_) {
      auto const [round, lane, low, high] = pair;
      if (sides.size() == 1 && peers_[low].alive && peers_[high].alive) ++found;
    }
    return found;
  }
  [[nodiscard]] std::size_t syncs() const {
    std::size_t all = 0;
    for (auto const& peer : peers_) all += peer.syncs;
    return all;
  }
  [[nodiscard]] std::size_t exchanges() const { return exchanged_.size(); }
  // Of the lane of parameters or joint, and of that of gradients, where there are two: the fewer.
  [[nodiscard]] std::size_t matched_in(std::uint64_t round) const {
    std::map<MixLane, std::size_t> matched;
    for (auto const& peer : peers_) {
      auto const found = peer.applied.find(round);
      if (found == peer.applied.end()) continue;
      for (auto const& mixed : found->second.mixed) matched[mixed.lane] += mixed.partner ? 1 : 0;
    }
    std::size_t fewest = peers_.size();
    for (auto const& [lane, count] : matched) fewest = std::min(fewest, count);
    return fewest;
  }

  Peer& operator[](std::size_t i) { return peers_[i]; }
  [[nodiscard]] std::size_t size() const { return peers_.size(); }
  [[nodiscard]] PeerId id(std::size_t i) const {
    return peer_number(static_cast<std::uint8_t>(i + 1));
  }
  [[nodiscard]] std::size_t number(PeerId const& peer) const {
    for (std::size_t i = 0; i < peers_.size(); ++i)
      if (id(i) == peer) return i;
    return peers_.size();
  }
  SeededRandom& random() { return random_; }

  // What may go wrong; by default nothing does.
  bool reorders = false;
  Duration latency_max = 40ms;
  double message_loss = 0;
  double pull_failure = 0;
  double beacon_loss = 0;
  std::function<bool(std::size_t observer, std::size_t of)> sees = [](auto, auto) { return true; };
  std::function<bool(pair_action::Send const&)> loses = [](auto const&) { return false; };

 private:
  Duration latency() {
    return 1ms + Duration(random_.below(static_cast<std::uint64_t>(latency_max.count())));
  }
  bool happens(double chance) { return chance > 0 && random_.unit() < chance; }

  void build(std::size_t i, std::uint64_t round) {
    auto& peer = peers_[i];
    auto settings = settings_;
    settings.self = id(i);
    peer.round = std::make_unique<Round>(settings);
    for (auto const lane : lanes()) {
      PairMemory memory;
      for (auto const& key : peer.decisions)
        if (key.lane == lane) memory.committed.insert(key);
      for (auto const& [key, doubt] : peer.doubts)
        if (key.lane == lane) memory.doubts.insert(key);
      PairSettings pair;
      pair.run = settings.run;
      pair.self = settings.self;
      pair.lane = lane;
      pair.overlapped = lane == MixLane::parameters;
      pair.payload_bytes = settings.mix2_bytes;
      pair.wait_min = settings.wait_min;
      pair.wait_max = settings.wait_max;
      peer.pairs[lane] = std::make_unique<PairExchange>(pair, peer.round->view(), memory);
    }
    start_version_[i] = {round, sha256(as_bytes(std::to_string(i)))};
  }
  [[nodiscard]] std::vector<MixLane> lanes() const {
    if (settings_.mixing.joint) return {MixLane::joint};
    return {MixLane::parameters, MixLane::gradients};
  }
  void begin(std::size_t i) {
    auto const life = peers_[i].life;
    at(now(), [=, this] {
      auto const version = start_version_[i];
      feed_pairs(i, pair_event::Began{version.round});
      feed(i, round_event::Start{version, false});
      tick(i, life);
    });
  }
  void soon(std::size_t i, Duration d, std::function<void()> what) {
    auto const life = peers_[i].life;
    later(d, [=, this] {
      if (peers_[i].alive && peers_[i].life == life) what();
    });
  }

  void feed(std::size_t i, RoundEvent const& event) {
    if (!peers_[i].alive) return;
    for (auto const& action : peers_[i].round->on(event, now()))
      std::visit([&](auto const& a) { perform(i, a); }, action);
  }
  void feed_pairs(std::size_t i, PairEvent const& event) {
    for (auto const lane : lanes()) feed_pair(i, lane, event);
  }
  void feed_pair(std::size_t i, MixLane lane, PairEvent const& event) {
    if (!peers_[i].alive) return;
    for (auto const& action : peers_[i].pairs.at(lane)->on(event, now()))
      std::visit([&](auto const& a) { perform(i, a); }, action);
  }
  void feed_lost(std::size_t i, std::size_t lost) {
    feed(i, round_event::PeerLost{id(lost)});
    feed_pairs(i, pair_event::PeerLost{id(lost)});
  }
  void tick(std::size_t i, std::uint64_t life) {
    if (!peers_[i].alive || peers_[i].life != life) return;
    feed(i, round_event::Tick{});
    feed_pairs(i, pair_event::Tick{});
    if (++ticks_[i] % 8 == 0) beacon(i);
    later(250ms, [=, this] { tick(i, life); });
  }
  void beacon(std::size_t i) {
    auto& peer = peers_[i];
    Beacon b;
    b.sequence = ++peer.sequence;
    b.state = peer.round->beacon_state();
    b.round = peer.round->version().round;
    b.state_hash = peer.round->version().state;
    b.inner_steps = peer.steps;
    b.inner_step = static_cast<std::uint32_t>(
        std::min<std::int64_t>(peer.steps, (now() - peer.inner_started) / peer.step_time));
    b.steps_per_s = static_cast<float>(1 / to_seconds(peer.step_time));
    for (std::size_t to = 0; to < peers_.size(); ++to)
      if (to != i && sees(to, i) && !happens(beacon_loss))
        later(latency(), [=, this] { feed(to, round_event::BeaconSeen{id(i), b}); });
  }

  void perform(std::size_t i, round_action::StartInner const& a) {
    auto& peer = peers_[i];
    auto const generation = ++peer.inner_generation;
    peer.steps = a.steps;
    peer.inner_started = now();
    Duration const took = a.steps * peer.step_time + Duration(random_.below(200'000'000));
    soon(i, took, [=, this] {
      if (peers_[i].inner_generation != generation) return;
      feed(i, round_event::Rates{1 / to_seconds(peers_[i].step_time), 1e6});
      feed(i, round_event::InnerDone{a.steps, took});
    });
  }
  void perform(std::size_t i, round_action::StopInner const&) { ++peers_[i].inner_generation; }
  void perform(std::size_t i, round_action::Prepare const& a) {
    auto& peer = peers_[i];
    bool const gradients = a.lane == MixLane::gradients;
    if (gradients) peer.d = random_.unit() - 0.3;
    auto& served = served_[{i, a.round}];
    served.z = peer.model.z;
    if (gradients) served.d = peer.d;
    Contribution c;
    c.lane = a.lane;
    c.round = a.round;
    c.base = a.base;
    c.tokens = gradients ? peer.steps : 1;
    c.shards.push_back(blob_named("d " + std::to_string(i) + " " + std::to_string(a.round)));
    soon(i, latency(), [=, this] { feed(i, round_event::Prepared{c}); });
  }
  void perform(std::size_t i, round_action::Pair const& a) {
    MixOffer offer;
    offer.run = settings_.run;
    offer.round = a.mine.round;
    offer.lane = a.lane;
    offer.tokens = a.mine.tokens;
    offer.shards = a.mine.shards;
    feed_pair(i, a.lane, pair_event::Ready{offer, a.inner_took, 1e6});
  }
  void perform(std::size_t i, round_action::Apply const& a) {
    // A task of its own, as in the node: it ends later.
    soon(i, latency(), [=, this] { apply(i, a); });
  }
  void apply(std::size_t i, round_action::Apply const& a) {
    auto& peer = peers_[i];
    Outer const before = peer.model;
    peer.alone.step(peer.d);
    // Both lanes of a pair count alike here, so that the sum over the swarm is kept.
    auto mixed_with = [&](Served& own, MixLane lane, PeerId const& other) {
      auto const theirs = served_.at({number(other), a.round});
      if (lane != MixLane::gradients) own.z = (before.z + theirs.z) / 2;
      if (lane != MixLane::parameters) own.d = (peer.d + theirs.d) / 2;
    };
    auto stepped = [&](Served const& from) {
      Outer next{from.z, before.v};
      next.step(from.d);
      return next;
    };
    Served sure{before.z, peer.d};
    for (auto const& mixed : a.mixed) {
      if (!mixed.partner) continue;
      mixed_with(sure, mixed.lane, *mixed.partner);
      exchanged_[pair_of({a.round, mixed.lane, *mixed.partner}, i)].insert(i);
    }
    peer.model = stepped(sure);
    for (auto const& mixed : a.mixed) {
      if (!mixed.doubt) continue;
      auto with = sure;
      mixed_with(with, mixed.lane, *mixed.doubt);
      auto const other = stepped(with);
      peer.doubts[{a.round, mixed.lane, *mixed.doubt}] = {other.z - peer.model.z,
                                                          other.v - peer.model.v, false};
    }
    for (auto& [key, doubt] : peer.doubts) {
      if (key.round == a.round) continue;
      doubt.dv *= Outer::mu;
      doubt.dz -= Outer::lr * Outer::mu * doubt.dv;
    }
    correct(i);
    peer.applied[a.round] = a;
    Version const next{a.round + 1, sha256(as_bytes(std::to_string(peer.model.z)))};
    feed_pairs(i, pair_event::Began{next.round});
    feed(i, round_event::Applied{next});
  }
  void correct(std::size_t i) {
    auto& peer = peers_[i];
    std::erase_if(peer.doubts, [&](auto const& entry) {
      auto const& [key, doubt] = entry;
      if (!doubt.confirmed) return false;
      peer.model.z += doubt.dz;
      peer.model.v += doubt.dv;
      exchanged_[pair_of(key, i)].insert(i);
      return true;
    });
  }
  using Pair = std::tuple<std::uint64_t, MixLane, std::size_t, std::size_t>;
  [[nodiscard]] Pair pair_of(PairKey const& key, std::size_t i) const {
    auto const j = number(key.partner);
    return {key.round, key.lane, std::min(i, j), std::max(i, j)};
  }
  void perform(std::size_t i, round_action::Sync const& a) {
    ++peers_[i].syncs;
    soon(i, latency(), [=, this] {
      feed_pairs(i, pair_event::Began{a.version.round, true});
      feed(i, round_event::Synced{a.version});
    });
  }
  void perform(std::size_t i, round_action::BeaconNow const&) { beacon(i); }
  void perform(std::size_t i, round_action::Finished const&) { peers_[i].finished = true; }
  void perform(std::size_t, round_action::Publish const&) { FAIL("published in pair mode"); }
  void perform(std::size_t, round_action::Fetch const&) { FAIL("fetched in pair mode"); }
  void perform(std::size_t, round_action::StopFetch const&) { FAIL("fetched in pair mode"); }
  void perform(std::size_t, round_action::Average const&) { FAIL("averaged in pair mode"); }

  void perform(std::size_t i, pair_action::Send const& a) {
    auto const to = number(a.to);
    if (!peers_[to].alive) return soon(i, 500ms, [=, this] { feed_lost(i, to); });
    if (happens(message_loss) || loses(a)) return;
    Instant due = now() + latency();
    if (!reorders) {
      due = std::max(due, last_due_[{i, to}] + 1us);
      last_due_[{i, to}] = due;
    }
    at(due, [=, this] {
      if (auto const* offer = std::get_if<MixOffer>(&a.message))
        feed_pair(to, offer->lane, pair_event::OfferSeen{id(i), *offer});
      else if (auto const* answer = std::get_if<MixAnswer>(&a.message))
        feed_pair(to, answer->lane, pair_event::AnswerSeen{id(i), *answer});
    });
  }
  void perform(std::size_t i, pair_action::Pull const& a) {
    auto const from = number(a.exchange.partner);
    bool const fails = happens(pull_failure);
    auto const pull = ++peers_[i].pulls[a.exchange];
    soon(i, latency() + latency(), [=, this] {
      if (peers_[i].pulls[a.exchange] != pull) return;  // stopped
      bool const served = peers_[from].alive && peers_[from].serves && !fails;
      feed_pair(i, a.exchange.lane,
                pair_event::Pulled{a.exchange, served ? "" : "nobody serves it"});
    });
  }
  void perform(std::size_t i, pair_action::StopPull const& a) { ++peers_[i].pulls[a.exchange]; }
  void perform(std::size_t i, pair_action::Decide const& a) {
    soon(i, latency(), [=, this] {
      peers_[i].decisions.insert(a.exchange);
      feed_pair(i, a.exchange.lane, pair_event::Decided{a.exchange, ""});
    });
  }
  void perform(std::size_t i, pair_action::Closed const& a) {
    feed(i, round_event::PairClosed{a, 1, 1, 1});
  }
  void perform(std::size_t i, pair_action::Settled const& a) {
    auto const doubt = peers_[i].doubts.find(a.exchange);
    if (doubt == peers_[i].doubts.end()) return settled_early_(i, a);
    if (!a.committed) {
      peers_[i].doubts.erase(doubt);
      return;
    }
    doubt->second.confirmed = true;
    if (peers_[i].finished) correct(i);
  }
  // The answer came between the end of the exchange and the end of Apply.
  void settled_early_(std::size_t i, pair_action::Settled const& a) {
    soon(i, latency_max, [=, this] { perform(i, a); });
  }

  SeededRandom random_;
  RoundSettings settings_;
  std::vector<Peer> peers_;
  std::map<std::size_t, std::uint64_t> ticks_;
  std::map<std::size_t, Version> start_version_;
  std::map<std::pair<std::size_t, std::uint64_t>, Served> served_;
  std::map<std::pair<std::size_t, std::size_t>, Instant> last_due_;
  std::map<Pair, std::set<std::size_t>> exchanged_;
};

}  // namespace grapevine::test
