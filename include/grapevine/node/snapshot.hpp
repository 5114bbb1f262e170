// Snapshot: everything a peer shows of itself, as plain values. Made on the loop thread, read by
// the status server; the JSON form is `/status` (schema grapevine.status/1). Times in seconds,
// sizes in bytes.
#pragma once

#include "grapevine/crypto/hash.hpp"
#include "grapevine/net/host.hpp"
#include "grapevine/wire/manifest.hpp"
#include "grapevine/wire/messages.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace grapevine {

enum class Reachability : std::uint8_t {
  unknown,
  loopback,
  private_network,
  public_network,
  relayed
};

struct Snapshot {
  // peer
  PeerId id;
  std::string name;
  double uptime_s = 0;
  std::vector<Multiaddr> addresses;  // with /p2p/
  Reachability reachability = Reachability::unknown;

  // run; absent while no manifest is known
  std::optional<RunManifest> run;
  Hash run_id;
  PeerState state = PeerState::joining;
  struct Pause {
    std::string reason;                         // asked, quiet hours, monthly quota
    std::optional<std::uint64_t> until_unix_s;  // nothing: until somebody resumes it
  };
  std::optional<Pause> pause;  // asked for or due, also while the round before it is being ended

  struct Missing {
    PeerId peer;
    std::string reason;
  };
  struct Round {
    std::uint64_t current = 0;
    std::uint32_t inner_step = 0;
    std::uint32_t inner_steps = 0;
    std::uint64_t swarm_round = 0;  // the newest any counting peer is in
    std::uint64_t behind = 0;
    std::string phase;  // of the round machine
    struct Mix {        // of the round that is closing, or closed last; "off": the run has none
      std::string state = "idle";
      std::vector<PeerId> participants;
      std::vector<Missing> missing;
      std::uint64_t bytes_in = 0;
      std::uint64_t bytes_out = 0;
      double duration_s = 0;
    };
    Mix mix1;  // of parameters, while training
    Mix mix2;  // of outer gradients, after it
    struct Last {
      double duration_s = 0;
      double compute_s = 0;
      double blocked_s = 0;  // neither training nor evaluating
    } last;
  } round;

  struct Training {
    float loss = 0;
    std::optional<float> eval_loss;
    std::uint64_t tokens_total = 0;
    double tokens_per_s = 0;
    double utilization = 0;  // compute time / wall time of the last round
    std::string device = "cpu";
    std::string dtype = "fp32";
    double lr = 0;
  } training;

  // How far apart this peer and those it mixed with were at the end of the inner steps of the last
  // round; absent where that is not known.
  struct Consensus {
    std::optional<double> l2;  // root of the mean squared distance of their parameters
    std::optional<double> js;  // mean Jensen-Shannon distance on the probe batch, 0..1
  } consensus;

  struct Peer {
    PeerId id;
    std::string name;
    std::string agent;
    Direction direction = Direction::inbound;
    double rtt_ms = 0;
    std::uint64_t round = 0;
    std::uint64_t behind = 0;
    PeerState state = PeerState::joining;
    float loss = 0;
    double tokens_per_s = 0;
    std::uint64_t bytes_in = 0;
    std::uint64_t bytes_out = 0;
    bool connected = false;
  };
  std::vector<Peer> peers;

  struct Network {
    std::uint64_t bytes_in = 0;
    std::uint64_t bytes_out = 0;
    double in_bytes_per_s = 0;  // over the last few seconds
    double out_bytes_per_s = 0;
    std::size_t connections = 0;
    std::uint64_t dials_failed = 0;
    std::map<std::string, std::size_t> mesh;
    std::uint64_t messages_in = 0;
    std::uint64_t duplicates = 0;
    std::map<std::string, std::uint64_t> rejected;
    struct Caps {  // nothing: none
      std::optional<std::uint64_t> up_bytes_per_s;
      std::optional<std::uint64_t> down_bytes_per_s;
      std::optional<std::uint64_t> month_bytes_max;
      std::uint64_t month_bytes = 0;        // counted while there is a quota
      std::uint64_t month_ends_unix_s = 0;  // 0: nothing counted yet
    } caps;
    std::uint64_t blob_bytes_served = 0;
    std::uint64_t blob_bytes_fetched = 0;
  } network;

  std::uint64_t ledger_entries = 0;
  Hash ledger_head;
  struct Queue {
    std::size_t length = 0;
    std::size_t max = 0;
  };
  std::map<std::string, Queue> queues;

  struct Problem {  // one a code, newest text
    std::string code;
    std::uint64_t count = 0;
    double last_s = 0;  // seconds ago
    std::string text;
    std::string hint;
  };
  std::vector<Problem> errors;
  std::map<std::string, std::string> config;  // effective settings
  std::string checkpoint;                     // the newest, as a path; empty before the first
};

// One finished round, as kept in ledger.db: what `/history` serves.
struct RoundRecord {
  std::uint64_t entry = 0;  // its last in the ledger: they are numbered from 1 as they come
  std::uint64_t round = 0;
  double at_unix_s = 0;
  double duration_s = 0;
  double compute_s = 0;
  std::optional<float> loss;  // nothing where this peer only watched
  std::optional<float> eval_loss;
  Snapshot::Consensus consensus;
  std::uint32_t participants = 0;
  std::uint32_t missing = 0;
  std::uint32_t shards_missed = 0;
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;
};

}  // namespace grapevine
