// Node::State: what a node owns. The functions are grouped by file: node.cpp (life from start to
// end), node_join.cpp (finding the run and the others), node_gossip.cpp (beacons and
// announcements), node_round.cpp (performing the machine's actions), node_pair.cpp (pair
// exchanges), node_payload.cpp (what this peer brings to a mixing), node_apart.cpp (the outer step
// of a peer with a state of its own), node_sync.cpp (pulling a state), node_pause.cpp (planned
// absences), node_consensus.cpp (how far apart the models are), node_record.cpp (what a round was,
// for ledger and figures), node_checkpoint.cpp, node_snapshot.cpp. Loop thread only, but for what
// is handed to a worker.
#pragma once

#include "grapevine/net/blob_exchange.hpp"
#include "grapevine/net/host.hpp"
#include "grapevine/net/pubsub.hpp"
#include "grapevine/node/ledger.hpp"
#include "grapevine/node/node.hpp"
#include "grapevine/round/round.hpp"
#include "grapevine/runtime/gate.hpp"
#include "grapevine/train/checkpoint.hpp"
#include "node/model_state_detail.hpp"
#include "node/month_traffic_detail.hpp"
#include "node/pair_store_detail.hpp"
#include "node/peer_store_detail.hpp"
#include "node/sent_shard_detail.hpp"

#include <deque>
#include <set>

namespace grapevine {

using FloatsPtr = std::shared_ptr<std::vector<float> const>;

// What a checkpoint holds, caught at the moment between two rounds.
struct RoundStart {
  ModelStatePtr state;
  TrainerState trainer;
  std::uint64_t tokens_total = 0;
};

using ContributionKey = std::tuple<std::uint64_t, MixLane, PeerId>;  // round, lane, author

// A partner's side of a pair exchange, pulled and checked.
struct PulledSide {
  std::vector<Blob> blobs;  // as sent_values of a lane
  std::uint64_t tokens = 0;
  double norm = 0;                         // of its outer gradient
  std::optional<double> squared_distance;  // between its parameters and ours, where both are here
};

// Several blobs that are pulled from the same holders.
struct Fetches {
  std::vector<BlobRef> refs;
  std::vector<PeerId> holders;
  Instant deadline{};
  std::function<Result<>(BlobRef const&, Blob const&)> arrived;
  Result<> outcome{};
  std::size_t begun = 0, here = 0;
  Gate changed{};
};

// Why a peer is away for a while. Each holds by itself: it trains when none does.
enum class PauseReason : std::uint8_t { asked, quiet_hours, monthly_quota };
[[nodiscard]] std::string_view to_string(PauseReason reason);

struct Node::State {
  State(Doors doors, NodeOptions options);

  // node.cpp
  Awaitable<Result<>> run();
  Awaitable<> begin(Result<>& result);
  Awaitable<> stop_asked();
  Awaitable<Result<>> open_home();
  Awaitable<Result<>> keep_port(std::uint16_t before);
  Awaitable<Result<>> make_trainer();
  Awaitable<Result<>> first_state();
  Awaitable<Result<>> initial_state();
  [[nodiscard]] bool round_is_under_way() const;
  Awaitable<> take_part();
  Awaitable<> shut_down();
  void problem(Error const& error);
  void changed();

  // node_join.cpp
  Awaitable<Result<>> find_run();
  Awaitable<Result<>> create_run();
  Awaitable<Result<>> join_run();
  Awaitable<Result<>> try_to_join();
  [[nodiscard]] bool reached(Multiaddr const& address) const;
  Awaitable<Result<>> dial_bootstrap();
  struct BootstrapLook {
    std::map<std::string, Multiaddr> runs;  // which one is where
    std::vector<Error> failures;
    bool reached = false;  // somebody
  };
  Awaitable<Result<>> check_bootstrap(SignedManifest const& known);
  Awaitable<> look_at_bootstrap(BootstrapLook& look);
  [[nodiscard]] std::set<std::string> runs_of(PeerId const& peer) const;
  Awaitable<Result<std::string>> discover_run();
  Awaitable<Result<>> adopt(SignedManifest found);
  Awaitable<> keep_connected();
  Awaitable<> dial_missing_bootstrap();
  [[nodiscard]] std::vector<PeerStore::Known> worth_remembering() const;
  Awaitable<> remember_peers();

  // node_gossip.cpp
  void subscribe();
  Verdict take_beacon(GossipMessage const& message);
  Verdict take_announcement(GossipMessage const& message);
  void remember_contribution(std::uint64_t of_round, MixLane lane, PeerId const& author,
                             ByteView message);
  [[nodiscard]] std::uint64_t contribution_tokens() const;
  [[nodiscard]] Result<> acceptable(Announcement const& announcement) const;
  [[nodiscard]] Result<> acceptable(MixOffer const& offer) const;
  [[nodiscard]] PeerState shown_state() const;
  void send_beacon();
  void announce(Announcement announcement);
  Awaitable<> beat();

  // node_round.cpp
  void feed(RoundEvent event);
  void perform(round_action::StartInner const& action);
  void perform(round_action::StopInner const& action);
  void perform(round_action::Publish const& action);
  void perform(round_action::Fetch const& action);
  void perform(round_action::StopFetch const& action);
  void perform(round_action::Average const& action);
  void perform(round_action::Pair const& action);
  void perform(round_action::Apply const& action);
  void perform(round_action::Sync const& action);
  void perform(round_action::BeaconNow const& action);
  void perform(round_action::Finished const& action);
  Awaitable<> inner(std::uint64_t generation, std::uint64_t first_step, std::uint32_t steps);
  Awaitable<> fetch(round_action::Fetch action, std::shared_ptr<Gate> stop);
  Awaitable<Result<Blob>> fetch_shard(round_action::Fetch action);  // decoded
  Awaitable<> average(round_action::Average action);
  Awaitable<> apply(round_action::Apply action);
  Awaitable<ModelStatePtr> step_together(round_action::Apply action);
  [[nodiscard]] OuterSettings outer_settings() const;
  [[nodiscard]] std::vector<Blob> results_of(round_action::Mixed const& mixed) const;

  // node_payload.cpp
  struct ShardShape {
    std::uint64_t elements = 0;
    Codec codec = Codec::fp32;
    [[nodiscard]] std::uint64_t bytes() const;
  };
  struct Brought {
    std::vector<SentShard> shards;
    OuterGradient gradient;
    double norm = 0;  // of what is sent of it
  };
  [[nodiscard]] std::vector<ShardShape> shapes(MixLane lane) const;  // of what a peer brings
  [[nodiscard]] ShardShape shape_of(ShardBlob const& what) const;
  [[nodiscard]] std::uint64_t lane_bytes(MixLane lane) const;  // that a peer sends or pulls
  void perform(round_action::Prepare const& action);
  [[nodiscard]] Contribution empty_contribution(round_action::Prepare const& action) const;
  [[nodiscard]] Result<std::vector<SentShard>> encode_state(ModelState const& own) const;
  [[nodiscard]] Result<Brought> encode_gradient(std::span<float const> theta);
  Awaitable<> bring_parameters(round_action::Prepare action);
  Awaitable<> bring_gradient(round_action::Prepare action);
  std::vector<BlobRef> serve(MixLane lane, std::vector<SentShard>& shards);
  Awaitable<> settle_feedback(round_action::Apply action);

  // node_record.cpp
  Awaitable<> record(round_action::Apply action, Hash before, Hash after);
  void show_mix(round_action::Mixed const& mixed);
  [[nodiscard]] LedgerEntry entry_of(std::uint64_t of_round,
                                     round_action::Mixed const& mixed) const;
  [[nodiscard]] RoundRecord figures_of(round_action::Apply const& action) const;

  // node_pair.cpp
  Awaitable<Result<>> start_pairing();
  void feed_pairs(PairEvent const& event);  // the machines of all lanes
  void feed_pair(MixLane lane, PairEvent event);
  void perform(pair_action::Send const& action);
  void perform(pair_action::Pull const& action);
  void perform(pair_action::StopPull const& action);
  void perform(pair_action::Decide const& action);
  void perform(pair_action::Closed const& action);
  void perform(pair_action::Settled const& action);
  Awaitable<> send_mix(PeerId to);
  Awaitable<> take_mix(PeerStream stream);
  Result<> take_mix_message(PeerId const& from, ByteView message);
  Awaitable<> pull_side(pair_action::Pull action);
  Awaitable<Result<PulledSide>> fetch_side(pair_action::Pull action);
  Awaitable<> decide(pair_action::Decide action);

  // node_apart.cpp
  Awaitable<ModelStatePtr> step_apart(round_action::Apply action);
  Awaitable<ModelStatePtr> settled(ModelStatePtr next);
  Awaitable<> settle_at_the_end();
  void forget_doubts();
  Awaitable<> forget_corrections(Version checkpoint);
  [[nodiscard]] bool in_doubt() const;

  // node_sync.cpp
  Awaitable<> sync(round_action::Sync action);
  Awaitable<Result<ModelStatePtr>> pull_state(Version version, std::vector<PeerId> holders,
                                              std::function<bool()> still_wanted);
  Awaitable<Result<>> fetch_all(std::vector<BlobRef> refs, std::vector<PeerId> holders,
                                Instant deadline,
                                std::function<Result<>(BlobRef const&, Blob const&)> arrived);
  Awaitable<> run_fetches(Fetches& fetches, TaskGroup& group);
  Awaitable<> fetch_one_by_one(Fetches& fetches);
  void release_round_before();
  void release_states_before();
  Awaitable<Result<>> adopt_state(ModelStatePtr next);
  Awaitable<Result<>> set_trainer(ModelStatePtr next, bool keep_progress);
  void keep(ModelState const& kept);
  void release(ModelState const& kept);

  // node_pause.cpp
  Awaitable<Result<>> ask_for_pause(bool pause);
  void pause_for(PauseReason reason, std::optional<std::uint64_t> until_unix_s);
  void pause_no_more_for(PauseReason reason);
  void tell_round_of_pauses();
  void pause_as_due();
  std::uint64_t count_traffic();
  void keep_to_quota(std::uint64_t fresh);
  Awaitable<> save_month();
  [[nodiscard]] std::uint64_t unix_s() const { return doors.clock.unix_ns() / 1'000'000'000; }
  [[nodiscard]] bool paused() const { return !pauses.empty(); }
  [[nodiscard]] Snapshot::Pause longest_pause() const;

  // node_consensus.cpp
  [[nodiscard]] MixLane probe_lane() const;
  std::optional<Result<ProbeAnswer>> ask_probe();
  Awaitable<> show_probe(std::uint64_t of_round, std::optional<Result<ProbeAnswer>> answer);
  [[nodiscard]] bool answered(std::uint64_t of_round) const;
  [[nodiscard]] std::optional<BlobRef> shown_probe(std::uint64_t of_round, MixLane lane) const;
  void probe_seen(std::uint64_t of_round, MixLane lane, PeerId const& peer,
                  std::optional<BlobRef> const& ref);
  Awaitable<> compare_probe(std::uint64_t of_round, PeerId peer, BlobRef ref);
  [[nodiscard]] std::optional<double> js_of(std::uint64_t of_round);
  [[nodiscard]] bool exact(MixLane lane) const;
  [[nodiscard]] std::vector<Blob> joint_side(MixLane lane) const;
  Awaitable<std::optional<double>> spread_of(round_action::Mixed mixed);
  Awaitable<Snapshot::Consensus> consensus_of(round_action::Apply action);

  // node_checkpoint.cpp
  Awaitable<Result<>> checkpoint_now();
  Awaitable<Result<std::optional<Checkpoint>>> newest_checkpoint();
  Awaitable<Result<>> write_checkpoint(RoundStart start);
  Awaitable<> write_in_background(RoundStart start);
  void checkpoint_if_due();

  // node_snapshot.cpp
  [[nodiscard]] Snapshot snapshot() const;
  void fill_round(Snapshot& shown) const;
  void fill_peers(Snapshot& shown) const;
  void fill_network(Snapshot& shown) const;
  void fill_problems(Snapshot& shown) const;

  Doors doors;
  NodeOptions options;
  TaskGroup tasks;
  Instant started{};
  Gate stop_gate;
  bool stop_requested = false;
  bool finished = false;
  bool closing = false;
  // Until which second of the Unix epoch; nothing: until somebody says so.
  std::map<PauseReason, std::optional<std::uint64_t>> pauses;
  MonthTraffic month;               // while there is a quota
  std::uint64_t counted_bytes = 0;  // of the host's, that are in it
  std::optional<Instant> month_saved_at;

  std::optional<Identity> identity;
  PeerId self;
  std::unique_ptr<PeerStore> peer_store;  // heavy worker
  std::unique_ptr<Ledger> ledger;         // heavy worker
  Ledger::Head ledger_head;
  std::unique_ptr<Host> host;
  std::unique_ptr<PubSub> pubsub;
  std::unique_ptr<BlobExchange> blobs;
  std::uint64_t beacon_sequence = 0;
  std::map<Multiaddr, PeerId> bootstrap_peers;  // who answered where

  std::optional<SignedManifest> manifest;
  std::unique_ptr<Trainer> trainer;  // train worker
  TensorLayout layout;
  TrainerInfo trainer_info;

  std::unique_ptr<Round> round;
  std::deque<RoundEvent> events;
  bool feeding = false;
  ModelStatePtr state;
  struct StateBefore {
    ModelStatePtr state;
    Instant replaced{};
  };
  std::deque<StateBefore> states_before;  // still served: others may be behind
  struct Unfinished {                     // what has come of a state that is not all here yet
    Version version;
    std::map<BlobRef, Blob> shards;
  } unfinished;
  FloatsPtr inner_start;                  // what the trainer's progress is measured from
  std::map<ShardBlob, Blob> round_blobs;  // what came and what was made, decoded
  std::map<ShardBlob, std::shared_ptr<Gate>> stop_fetch;  // told when it is not needed any more
  std::map<MixLane, std::vector<Blob>> sent_values;  // what this peer brought, as others decode it
  double own_norm = 0;                               // of what is sent of …
  std::vector<Blob> own_gradient;                    // as it was trained
  std::vector<ErrorFeedback> feedback;  // heavy worker; with a lossy mix2_codec, by shard
  // Served: what is ours of this round and the last, and the averages that were pulled.
  std::vector<BlobRef> kept_gradients;
  std::vector<BlobRef> kept_gradients_before;
  std::vector<Announcement> announced;  // ours, repeated until the round is over
  std::vector<Announcement> announced_before;
  std::map<ContributionKey, Hash> contribution_hashes;  // of this round and the next
  std::optional<RoundStart> round_start;
  std::optional<Version> on_disk;  // of the newest checkpoint
  bool checkpoint_running = false;
  Gate checkpoint_gate;  // when it runs no more

  struct Pairing {                     // where a lane of the run has MixPattern::pair
    std::unique_ptr<PairStore> store;  // heavy worker
    std::map<MixLane, std::unique_ptr<PairExchange>> machines;
    std::deque<std::pair<MixLane, PairEvent>> events;
    bool feeding = false;
    bool settling = false;                           // after the last round
    bool state_replaced = false;                     // since the last round began
    std::map<PeerId, std::deque<Bytes>> outbox;      // a queue is there while a task empties it
    std::map<PairKey, std::shared_ptr<Gate>> pulls;  // under way; told when one is to stop
    std::map<PairKey, PulledSide> sides;             // pulled in this round
    std::map<PairKey, PairDoubt> doubts;
    std::map<PairKey, bool> settled;  // committed or not; the next outer step takes it in
  } pairing;

  struct Probing {
    struct Mine {               // our newest answer …
      std::uint64_t round = 0;  // … and the round in whose mixing it is compared
      BlobRef ref;
      std::shared_ptr<ProbeAnswer const> answer;
    } mine;
    std::map<std::pair<std::uint64_t, PeerId>, BlobRef> seen;      // of others, by round
    std::map<std::pair<std::uint64_t, PeerId>, double> distances;  // of those to ours
    std::optional<double> l2;                                      // to the partner of this round
  } probing;

  // Figures
  std::uint64_t inner_generation = 0;
  std::uint32_t inner_done = 0;
  std::uint64_t round_tokens = 0;  // trained since inner_start
  std::uint32_t round_steps = 0;
  double round_loss_sum = 0;
  float loss = 0;
  std::optional<float> round_loss;  // mean of this round's inner phase, once it is over
  std::optional<float> eval_loss;
  double lr = 0;
  double steps_per_s = 0;
  double tokens_per_s = 0;
  std::uint64_t tokens_total = 0;
  Instant round_began{};
  Duration compute{};  // of this round so far
  Snapshot::Round::Mix last_mix1;
  Snapshot::Round::Mix last_mix2;
  Snapshot::Round::Last last_round;
  Snapshot::Consensus last_consensus;
  Host::Counters counters_at_round;
  Host::Counters counters_at_mix2;
  Instant mix_began{};
  struct Seen {
    Error error;
    std::uint64_t count = 0;
    Instant last{};
  };
  std::map<std::string, Seen> problems;
  std::vector<std::function<void()>> listeners;
  struct RateSample {
    Instant at{};
    std::uint64_t in = 0;
    std::uint64_t out = 0;
  };
  std::deque<RateSample> rate_samples;
};

}  // namespace grapevine
