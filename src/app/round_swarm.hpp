// RoundSwarm: the machines that decide in a node (Round with its butterflies, PairExchange) for a
// whole swarm in virtual time. Nothing is trained and no tensor exists: inner steps take the time
// they are given, and a blob is a name and a size whose bytes travel over the peers' links.
// Averaging, hashing and the outer step take no time; messages take a fixed latency and none is
// lost. Deterministic from its seed; one thread.
#pragma once

#include "grapevine/base/random.hpp"
#include "grapevine/round/round.hpp"
#include "grapevine/sim/virtual_time.hpp"

#include "app/mean.hpp"
#include "app/timed_transfers.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace grapevine {

struct SwarmShape {
  struct Payload {
    std::uint64_t bytes = 0;          // that one peer brings to a mixing
    std::uint64_t average_bytes = 0;  // of everybody's average
  };

  Mixing mixing;  // with lanes of their own, without momentum
  std::size_t peers = 8;
  std::uint32_t shards = 8;
  std::uint32_t inner_steps = 100;
  Duration step_time{};
  sim::LinkRates link;            // of each peer
  Payload parameters;             // Mix1
  Payload gradients;              // Mix2
  std::uint64_t state_bytes = 0;  // what one that takes over another's state pulls
  double transfer_failure = 0;    // of a link between two, in one direction, for a round
  Duration wait_min{};            // manifest.deadline_s_min
  Duration wait_max{};            // manifest.deadline_s_max
};

struct SwarmFigures {
  double utilization = 0;  // time in inner steps that were applied, of all time
  double round_s = 0;
  double sent_bytes = 0;  // of a peer in a round
  // How much of what the others had was mixed in: 1 when everybody's every shard was, or every
  // peer found a partner. 1 for a lane that the mixing does not have.
  double mixed_parameters = 1;
  double mixed_gradients = 1;
  std::size_t syncs = 0;  // states taken over from another peer
  bool ended = false;     // within the time that was allowed
};

class RoundSwarm {
 public:
  RoundSwarm(SwarmShape shape, std::uint64_t seed);

  // Runs until every peer has done `warm_up` and then `rounds` rounds, which are measured.
  SwarmFigures run(std::uint64_t warm_up, std::uint64_t rounds);

 private:
  using Has = std::function<bool(std::size_t holder)>;
  struct Pull {
    std::size_t to = 0;
    std::vector<std::size_t> holders;  // not yet asked
    Has has;
    std::uint64_t bytes = 0;
    Instant deadline{};
    std::function<void(bool)> done;
    std::optional<sim::SharedLinks::Transfer> transfer;  // the newest
    Instant transfer_began{};
    bool stopped = false;
  };
  struct Peer {
    std::unique_ptr<Round> round;
    std::map<MixLane, std::unique_ptr<PairExchange>> pairs;
    std::vector<Hash> shards;  // of its state
    bool state_replaced = false;
    std::map<PairKey, std::shared_ptr<Pull>> pulls;
    std::map<ShardBlob, std::vector<std::shared_ptr<Pull>>> fetches;
    std::map<Hash, std::uint64_t> blobs;  // that it serves, and of which round they are
    std::uint64_t beacons = 0;
    std::uint64_t beats = 0;
    std::uint64_t inner_generation = 0;
    std::uint32_t steps = 0;
    bool training = false;
    Instant inner_started{};
    Duration trained{};                   // of this round
    double fetch_bytes_per_s = 0;         // smoothed
    std::vector<Announcement> announced;  // in this round and the one before
    // Measured: when each round was applied, and what had been reached by then.
    Instant measured_from{};
    Instant measured_until{};
    Duration useful{};
    double sent_before = 0;
    double sent = 0;
    std::uint64_t applied = 0;
  };

  void build(std::size_t i);
  void feed(std::size_t i, RoundEvent const& event);
  void feed_pair(std::size_t i, MixLane lane, PairEvent const& event);
  void feed_pairs(std::size_t i, PairEvent const& event);
  void beat(std::size_t i);
  void send_beacon(std::size_t i);
  void announce(std::size_t i, Announcement const& announcement);
  void tell(std::size_t to, std::size_t from, Announcement const& announcement);
  void announce_again(std::size_t to);
  void stop_training(std::size_t i);
  void measure(std::size_t i, round_action::Apply const& action);
  void measure(round_action::Mixed const& mixed);
  void sync_ended(std::size_t i, Version const& version, std::optional<std::vector<Hash>> shards);

  void perform(std::size_t i, round_action::StartInner const& action);
  void perform(std::size_t i, round_action::StopInner const&) { stop_training(i); }
  void perform(std::size_t i, round_action::Prepare const& action);
  void perform(std::size_t i, round_action::Publish const& action);
  void perform(std::size_t i, round_action::Fetch const& action);
  void perform(std::size_t i, round_action::StopFetch const& action);
  void perform(std::size_t i, round_action::Average const& action);
  void perform(std::size_t i, round_action::Pair const& action);
  void perform(std::size_t i, round_action::Apply const& action);
  void perform(std::size_t i, round_action::Sync const& action);
  void perform(std::size_t i, round_action::BeaconNow const&) { send_beacon(i); }
  void perform(std::size_t, round_action::Finished const&) {}
  void perform(std::size_t i, pair_action::Send const& action);
  void perform(std::size_t i, pair_action::Pull const& action);
  void perform(std::size_t i, pair_action::StopPull const& action);
  void perform(std::size_t i, pair_action::Decide const& action);
  void perform(std::size_t i, pair_action::Closed const& action);
  void perform(std::size_t, pair_action::Settled const&) {}

  std::shared_ptr<Pull> pull(std::size_t to, std::vector<PeerId> holders, Has const& has,
                             std::uint64_t bytes, Instant deadline, std::function<void(bool)> done);
  void pull_from_next(std::shared_ptr<Pull> const& pull);
  void stop(Pull& pull);
  [[nodiscard]] bool link_fails(std::size_t from, std::size_t to) const;
  void note_rate(std::size_t i, double bytes, Duration took);
  [[nodiscard]] SwarmShape::Payload const& payload(MixLane lane) const;
  [[nodiscard]] Version version_of(Peer const& peer, std::uint64_t round, std::size_t i) const;

  SwarmShape shape_;
  SeededRandom random_;
  Hash run_;
  sim::VirtualTime time_;
  TimedTransfers transfers_;
  std::vector<PeerId> ids_;
  std::map<PeerId, std::size_t> numbers_;
  std::vector<Peer> peers_;
  std::uint64_t warm_up_ = 0;
  std::uint64_t rounds_ = 0;
  std::size_t finished_ = 0;
  std::size_t syncs_ = 0;
  Mean mixed_parameters_;
  Mean mixed_gradients_;
};

}  // namespace grapevine
