// Node: one peer of a run. It owns the host, the gossip, the blobs, the trainer and the round
// machine, performs the actions the machine asks for, and keeps the state on disk. Loop thread
// only; heavy work goes through the two workers of its Doors. One run() in its life.
#pragma once

#include "grapevine/node/quiet_hours.hpp"
#include "grapevine/node/snapshot.hpp"
#include "grapevine/runtime/doors.hpp"
#include "grapevine/train/trainer.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace grapevine {

// What the person whose machine it is lets the peer take.
struct Allowance {
  std::uint64_t up_bytes_per_s = 0;  // of blobs; 0: no cap, as for the next two
  std::uint64_t down_bytes_per_s = 0;
  std::uint64_t month_bytes = 0;  // sent and received in a calendar month (UTC), all together
  std::optional<QuietHours> quiet_hours;
  std::function<std::int64_t(std::uint64_t unix_s)> utc_offset_s;  // of local time; none: UTC
};

struct NodeOptions {
  std::string name;  // shown to others; default: the end of the peer id
  std::vector<Multiaddr> listen;
  // A listen address with port 0 gets the port it had at the last start, where that is free: what
  // others join by stays the same.
  bool keep_port = false;
  std::vector<Multiaddr> announce;
  std::vector<Multiaddr> bootstrap;
  std::optional<RunManifest> create;   // start a new run as described (hashes are filled in)
  std::optional<Hash> run;             // which run to join, when the bootstrap serves several
  bool retry = false;                  // keep trying a bootstrap that cannot be reached
  std::uint32_t checkpoint_every = 1;  // rounds
  std::uint32_t checkpoints_kept = 3;
  bool evaluate = true;  // on this peer's held-out text after each round
  // After the last round of a bounded run: how long to stay and serve those who are not done yet.
  Duration linger = 10s;
  Allowance allowance;
  std::map<std::string, std::string> shown_config;  // for /status
  // Called on the train worker once the manifest is known. `self` seeds the data order.
  std::function<Result<std::unique_ptr<Trainer>>(RunManifest const&, PeerId const& self)>
      make_trainer;
};

class Node {
 public:
  Node(Doors doors, NodeOptions options);
  ~Node();
  Node(Node const&) = delete;

  // Joins or creates the run, trains until the run's last round or stop(), and shuts down in order.
  // The error says why it could not take part at all; whatever happens later is in the snapshot.
  Awaitable<Result<>> run();
  // Ask run() to end: leaves the round, writes a checkpoint, says goodbye. Safe at any time.
  void stop();
  // Rest until resume(), also across restarts: the peer leaves the round that it trains in or ends
  // the one that it mixes in, keeps its state and its place in the data, and tells the others, who
  // do not wait for it and do not count it as missing. Connections, gossip and what it serves stay.
  // It comes back as a peer does that is late. Errc of the disk when the wish could not be kept.
  Awaitable<Result<>> pause();
  Awaitable<Result<>> resume();
  // Writes the newest finished round to disk, when it is not there yet. Errc::not_found while there
  // is none.
  Awaitable<Result<>> checkpoint();
  // Once it stops: the checkpoint is written. What is left to run() is to wait for its workers.
  [[nodiscard]] bool saved() const;

  [[nodiscard]] Snapshot snapshot() const;
  // Rounds from `since` on, oldest first, at most 1000. Reads the database on the heavy worker.
  Awaitable<Result<std::vector<RoundRecord>>> history(std::uint64_t since);
  [[nodiscard]] Hash state_hash() const;  // of the state this peer is at; zero before the first
  [[nodiscard]] bool ready() const;       // takes part: trains or mixes

  // After each finished round and each change of state: for the demo and for tests.
  void on_change(std::function<void()> listener);
  // Full listen addresses, once listening: what others need to join.
  [[nodiscard]] std::vector<Multiaddr> addresses() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace grapevine
