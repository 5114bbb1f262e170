// A few Round machines in virtual time, with a network that only knows who holds which blob: enough
// to test the machine against every order of events, thousands of rounds a second.
#pragma once

#include "grapevine/base/random.hpp"
#include "grapevine/round/round.hpp"
#include "grapevine/sim/virtual_time.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace grapevine::test {

inline PeerId peer_number(std::uint8_t n) {
  std::array<std::uint8_t, 32> key{};
  key[0] = n;
  key[31] = 1;
  return PeerId::from_ed25519(key);
}

inline BlobRef blob_named(std::string const& name) { return {sha256(as_bytes(name)), 4}; }

class RoundWorld : public sim::VirtualTime {
 public:
  struct Peer {
    std::unique_ptr<Round> round;
    bool alive = true;
    bool serves = true;     // answers fetches
    bool dribbles = false;  // one that does not serve keeps those who ask until their deadline
    std::optional<Version> claims;  // in its beacons, whatever is true
    Duration step_time = 10ms;      // per inner step
    std::uint64_t sequence = 0;
    std::uint64_t inner_generation = 0;
    std::uint32_t inner_steps = 0;
    Instant inner_started{};
    std::set<BlobRef> blobs;
    std::map<ShardBlob, std::size_t> stopped;  // times that a fetch was
    std::vector<round_action::Apply> applied;
    std::vector<std::string> syncs;
    bool finished = false;
  };

  RoundWorld(std::size_t count, std::uint64_t seed, std::uint64_t rounds) : random_(seed) {
    settings_.shards = 4;
    settings_.inner_steps = 20;
    settings_.rounds = rounds;
    settings_.mix1_bytes = settings_.mix2_bytes = 1000;
    settings_.wait_min = 2s;
    settings_.wait_max = 60s;
    settings_.beacon_ttl = 10s;
    for (std::size_t i = 0; i < count; ++i) add();
  }

  std::size_t add() {
    auto settings = settings_;
    settings.self = peer_number(static_cast<std::uint8_t>(peers_.size() + 1));
    peers_.push_back({});
    peers_.back().round = std::make_unique<Round>(settings);
    return peers_.size() - 1;
  }
  void start(std::size_t i, Version version = {}, bool provisional = false) {
    at(now(), [=, this] { feed(i, round_event::Start{version, provisional}); });
    at(now(), [=, this] { tick(i); });
  }
  void start_all() {
    for (std::size_t i = 0; i < peers_.size(); ++i) start(i);
  }
  void kill(std::size_t i) {
    peers_[i].alive = false;
    for (std::size_t j = 0; j < peers_.size(); ++j)
      if (j != i) later(latency(), [=, this] { feed(j, round_event::PeerLost{id(i)}); });
  }
  void pause(std::size_t i) { feed(i, round_event::Pause{}); }
  void resume(std::size_t i) { feed(i, round_event::Resume{true}); }
  [[nodiscard]] bool all_finished() const {
    for (auto const& peer : peers_)
      if (peer.alive && !peer.finished) return false;
    return true;
  }
  [[nodiscard]] std::set<Version> versions() const {
    std::set<Version> all;
    for (auto const& peer : peers_)
      if (peer.alive) all.insert(peer.round->version());
    return all;
  }
  Peer& operator[](std::size_t i) { return peers_[i]; }
  [[nodiscard]] PeerId id(std::size_t i) const {
    return peer_number(static_cast<std::uint8_t>(i + 1));
  }
  [[nodiscard]] std::vector<BlobRef> shards_of(std::size_t i, std::uint64_t round) const {
    std::vector<BlobRef> shards;
    for (std::uint32_t s = 0; s < settings_.shards; ++s)
      shards.push_back(blob_named("input " + std::to_string(i) + " " + std::to_string(round) + " " +
                                  std::to_string(s)));
    return shards;
  }
  [[nodiscard]] PeerId id_of(Peer const& peer) const {
    return id(static_cast<std::size_t>(&peer - peers_.data()));
  }
  std::function<bool(std::size_t from, std::size_t to)> connected = [](auto, auto) { return true; };
  // What one announces reaches the other, but its blobs may not.
  std::function<bool(std::size_t from, std::size_t to)> carries = [](auto, auto) { return true; };
  std::function<Duration(std::size_t from)> takes = [](auto) { return 0s; };  // a blob, longer
  // Announces, as soon as it knows what all bring, a result of every shard with the lowest root
  // that there is, and keeps who asks for it until their deadline.
  std::optional<std::size_t> forger;
  std::function<void(Announcement&)> tamper;  // on what is published

 private:
  Duration latency() { return Duration(1'000'000 + random_.below(40'000'000)); }

  void feed(std::size_t i, RoundEvent const& event) {
    if (!peers_[i].alive) return;
    for (auto const& action : peers_[i].round->on(event, now()))
      std::visit([&](auto const& a) { perform(i, a); }, action);
  }
  void tick(std::size_t i) {
    if (!peers_[i].alive) return;
    feed(i, round_event::Tick{});
    if (++ticks_[i] % 4 == 0) beacon(i);
    later(250ms, [=, this] { tick(i); });
  }
  void beacon(std::size_t i) {
    auto& peer = peers_[i];
    Beacon b;
    b.sequence = ++peer.sequence;
    b.state = peer.round->beacon_state();
    b.round = peer.round->version().round;
    b.state_hash = peer.round->version().state;
    if (peer.claims) {
      b.state = PeerState::training;
      b.round = peer.claims->round;
      b.state_hash = peer.claims->state;
    }
    b.inner_steps = peer.inner_steps;
    b.inner_step = static_cast<std::uint32_t>(
        std::min<std::int64_t>(peer.inner_steps, (now() - peer.inner_started) / peer.step_time));
    b.steps_per_s = static_cast<float>(1 / to_seconds(peer.step_time));
    broadcast(i, [this, i, b](std::size_t to) { feed(to, round_event::BeaconSeen{id(i), b}); });
  }
  void broadcast(std::size_t from, std::function<void(std::size_t)> const& deliver) {
    for (std::size_t to = 0; to < peers_.size(); ++to)
      if (to != from && connected(from, to)) later(latency(), [=] { deliver(to); });
  }

  void perform(std::size_t i, round_action::StartInner const& a) {
    auto& peer = peers_[i];
    auto const generation = ++peer.inner_generation;
    peer.inner_started = now();
    peer.inner_steps = a.steps;
    Duration const took = a.steps * peer.step_time;
    later(took, [=, this] {
      if (peers_[i].inner_generation != generation) return;
      feed(i, round_event::Rates{1 / to_seconds(peers_[i].step_time), 1e6});
      feed(i, round_event::InnerDone{a.steps, took});
    });
  }
  void perform(std::size_t i, round_action::StopInner const&) { ++peers_[i].inner_generation; }
  void perform(std::size_t i, round_action::Prepare const& a) {
    Contribution c;
    c.round = a.round;
    c.base = a.base;
    c.tokens = peers_[i].inner_steps;
    c.shards = shards_of(i, a.round);
    peers_[i].blobs.insert(c.shards.begin(), c.shards.end());
    later(latency(), [=, this] { feed(i, round_event::Prepared{c}); });
  }
  void forge(Contribution const& contribution, PeerId const& author) {
    auto& known = forged_[contribution.round];
    known[author] = contribution;
    if (known.size() < peers_.size()) return;
    for (std::uint32_t s = 0; s < settings_.shards; ++s) {
      ShardResult result;
      result.round = contribution.round;
      result.base = contribution.base;
      result.shard = s;
      for (auto const& [peer, brought] : known)
        result.inputs.push_back({peer, brought.shards[s].root, brought.tokens});
      result.result = {Hash{}, 4};
      auto const tell = [this, result](std::size_t to) {
        feed(to, round_event::ResultSeen{id(*forger), result});
      };
      broadcast(*forger, tell);
    }
  }
  void perform(std::size_t i, round_action::Publish const& a) {
    auto announcement = a.announcement;
    if (forger)
      if (auto const* const c = std::get_if<Contribution>(&announcement)) forge(*c, id(i));
    if (tamper) tamper(announcement);
    broadcast(i, [this, i, announcement](std::size_t to) {
      if (auto const* c = std::get_if<Contribution>(&announcement))
        feed(to, round_event::ContributionSeen{id(i), *c});
      if (auto const* r = std::get_if<ShardResult>(&announcement))
        feed(to, round_event::ResultSeen{id(i), *r});
    });
  }
  void perform(std::size_t i, round_action::Fetch const& a) {
    Duration const wait = latency();
    auto const tell = [this, i, a, times = peers_[i].stopped[a.what]](std::string const& failure) {
      if (peers_[i].stopped[a.what] == times) feed(i, round_event::Fetched{a.what, failure});
    };
    later(wait, [=, this] {
      for (auto const& holder : a.holders)
        for (std::size_t j = 0; j < peers_.size(); ++j)
          if (id(j) == holder && peers_[j].alive && peers_[j].serves && connected(j, i) &&
              carries(j, i) && peers_[j].blobs.contains(a.what.blob)) {
            return arrive(i, j, a, tell);
          }
      auto const refused = [&](PeerId const& holder) {
        for (std::size_t j = 0; j < peers_.size(); ++j)
          if (id(j) == holder && a.what.blob.root.is_zero())
            return false;  // the forger's
          else if (id(j) == holder)
            return !carries(j, i) || !peers_[j].blobs.contains(a.what.blob);
        return false;
      };
      if (std::ranges::all_of(a.holders, refused)) return tell("refused");
      bool const kept = std::ranges::any_of(peers_, [&](Peer const& peer) {
        bool const forges = forger && id_of(peer) == id(*forger) && a.what.blob.root.is_zero();
        return (peer.dribbles || forges) &&
               std::ranges::find(a.holders, id_of(peer)) != a.holders.end();
      });
      Instant const fails = kept ? a.deadline : std::min(a.deadline, now() + Duration(5s));
      at(std::max(now(), fails), [=] { tell("nobody serves it"); });
    });
  }
  void arrive(std::size_t to, std::size_t from, round_action::Fetch const& a,
              std::function<void(std::string const&)> const& tell) {
    if (now() + takes(from) > a.deadline) return at(a.deadline, [=] { tell("too slow"); });
    later(takes(from), [=, this] {
      peers_[to].blobs.insert(a.what.blob);
      tell("");
    });
  }
  void perform(std::size_t i, round_action::StopFetch const& a) { ++peers_[i].stopped[a.what]; }
  void perform(std::size_t i, round_action::Average const& a) {
    std::string name = "average";
    for (auto const& input : a.inputs) name += input.root.hex() + std::to_string(input.tokens);
    auto const ref = blob_named(name);
    peers_[i].blobs.insert(ref);
    later(latency(),
          [=, this] { feed(i, round_event::Averaged{a.lane, a.round, a.shard, ref, ""}); });
  }
  void perform(std::size_t, round_action::Pair const&) { FAIL("a pair in global mode"); }
  void perform(std::size_t i, round_action::Apply const& a) {
    auto& peer = peers_[i];
    peer.applied.push_back(a);
    std::string name = peer.round->version().state.hex();
    for (auto const& result : a.mixed.at(0).results) name += result ? result->root.hex() : "-";
    later(latency(),
          [=, this] { feed(i, round_event::Applied{{a.round + 1, sha256(as_bytes(name))}}); });
  }
  void perform(std::size_t i, round_action::Sync const& a) {
    peers_[i].syncs.push_back(std::to_string(a.version.round) + (a.background ? " heal" : ""));
    later(latency(), [=, this] {
      for (auto const& holder : a.holders)
        for (std::size_t j = 0; j < peers_.size(); ++j)
          if (id(j) == holder && peers_[j].alive && peers_[j].serves && connected(j, i))
            return feed(i, round_event::Synced{a.version});
      feed(i, round_event::SyncFailed{a.version, "no holder"});
    });
  }
  void perform(std::size_t i, round_action::BeaconNow const&) { beacon(i); }
  void perform(std::size_t i, round_action::Finished const&) { peers_[i].finished = true; }

  SeededRandom random_;
  RoundSettings settings_;
  std::vector<Peer> peers_;
  std::map<std::size_t, std::uint64_t> ticks_;
  std::map<std::uint64_t, std::map<PeerId, Contribution>> forged_;  // by round
};

}  // namespace grapevine::test
