// Round: the outer-step machine of DiLoCo with partial consensus (arXiv 2311.08105; the exchange is
// a butterfly: every shard of the outer gradient has a reducer, which pulls it from every
// contributor, averages, and announces the result for all to pull). Pure: events and instants in,
// actions out.
//
//            Start                InnerDone            Prepared             all shards, or give up
//   idle ──────────► training ─────────────► preparing ─────────► collecting ───────────► applying
//                     ▲  ▲ │                                        │    ▲                   │
//              Synced │  │ │ the swarm is ahead                     │    │ results known     │
//                     │  │ └──────────────► syncing ◄───────────────┘    └── (late, from     │
//                     └──┼──────────────────────┘                             training)      │
//                        └──────────────────────────────── Applied ──────────────────────────┘
//
// What it guarantees, asserted at each step: the round grows by exactly one per Apply and never
// shrinks; every wait has an end that follows from measured rates and is bounded by the manifest; a
// missing peer is a reason in `Apply::missing`, never a stop; nothing that was trained is thrown
// away (a late peer keeps its progress and contributes it a round later).
//
// That is MixPattern::global. With `pair` a peer exchanges with one other
// (round/pair_exchange.hpp): Prepared asks for it (Pair), collecting ends with PairClosed; with
// `none` it takes its own step. In both every peer has a state of its own, so nobody heals and
// nobody is provisional.
#pragma once

#include "grapevine/round/pair_exchange.hpp"
#include "grapevine/round/swarm_view.hpp"

#include <set>
#include <string>
#include <utility>
#include <variant>

namespace grapevine {

struct RoundSettings {
  Hash run;
  PeerId self;
  MixPattern mix = MixPattern::global;
  std::uint32_t shards = 1;
  std::uint32_t inner_steps = 1;
  std::uint64_t rounds = 0;       // finish before this round; 0: never
  std::uint64_t model_bytes = 0;  // of one fp32 copy, for the transfer estimate
  Duration wait_min{};            // manifest.deadline_s_min
  Duration wait_max{};            // manifest.deadline_s_max
  Duration beacon_ttl{};          // a peer not heard of for so long is gone
};

enum class RoundPhase : std::uint8_t {
  idle,
  training,
  preparing,
  collecting,
  applying,
  syncing,
  finished
};
[[nodiscard]] std::string_view to_string(RoundPhase phase);

namespace round_event {
// A peer with a state begins. `provisional`: it joined in the middle of this round, so it trains
// with weight zero until the round is over.
struct Start {
  Version version;
  bool provisional = false;
};
struct BeaconSeen {
  PeerId peer;
  Beacon beacon;
};
struct PeerLost {
  PeerId peer;
};
struct ContributionSeen {
  PeerId peer;
  Contribution contribution;
};
struct ResultSeen {
  PeerId reducer;
  ShardResult result;
};
struct InnerDone {
  std::uint32_t steps = 0;
  Duration took{};
};
// The trainer could not go on (its loss is not a number): this peer sits the round out.
struct InnerFailed {};
// Answers Prepare: the blobs of the contribution are being served.
struct Prepared {
  Contribution contribution;
};
struct Fetched {
  BlobRef blob;
  std::string failure;  // empty: it is here, of the right size, and finite
};
struct Averaged {
  std::uint64_t round = 0;
  std::uint32_t shard = 0;
  BlobRef result;
  std::string failure;
};
// Answers Pair.
struct PairClosed {
  pair_action::Closed how;
  std::uint64_t partner_tokens = 0;
  float partner_norm = 0;  // L2 norm of its outer gradient
};
struct Applied {
  Version version;
};
struct Synced {
  Version version;
};
struct SyncFailed {
  Version version;
  std::string reason;
};
// Of this peer, as measured; 0 when unknown.
struct Rates {
  double steps_per_s = 0;
  double bytes_per_s = 0;
};
struct Tick {};
}  // namespace round_event

using RoundEvent = std::variant<round_event::Start, round_event::BeaconSeen, round_event::PeerLost,
                                round_event::ContributionSeen, round_event::ResultSeen,
                                round_event::InnerDone, round_event::InnerFailed,
                                round_event::Prepared, round_event::Fetched, round_event::Averaged,
                                round_event::PairClosed, round_event::Applied, round_event::Synced,
                                round_event::SyncFailed, round_event::Rates, round_event::Tick>;

namespace round_action {
struct StartInner {
  std::uint64_t first_step = 0;
  std::uint32_t steps = 0;
};
struct StopInner {};
// Hash and serve the outer gradient.
struct Prepare {
  std::uint64_t round = 0;
  Hash base;
};
struct Publish {
  Announcement announcement;
};
struct Fetch {
  BlobRef blob;
  std::vector<PeerId> holders;
  Instant deadline{};
};
struct Average {
  std::uint64_t round = 0;
  std::uint32_t shard = 0;
  std::vector<ShardResult::Input> inputs;  // in canonical order; their blobs are here
};
// Find a partner for what was prepared, and exchange.
struct Pair {
  Contribution mine;
  Duration inner_took{};
};
struct Apply {
  struct PairMix {
    std::optional<PeerId> partner;  // absent: the own outer gradient alone
    std::optional<PeerId> doubt;    // alone, but this one's share may have to be added later
  };
  struct Input {
    PeerId peer;
    std::uint64_t tokens = 0;
    float norm = 0;
    std::uint32_t shards = 0;
  };
  struct Missing {
    PeerId peer;
    std::string reason;
  };
  std::uint64_t round = 0;
  std::vector<std::optional<BlobRef>> results;  // one a shard; absent: the shard does not move
  std::vector<Input> inputs;
  std::vector<Missing> missing;
  // With MixPattern::pair and none. `results` are then this peer's own gradients, or absent when it
  // sits the round out.
  std::optional<PairMix> pair;
  // Nothing that this peer trained is in the results: it goes on from the new state with what it
  // has learned since on top, and contributes that a round later.
  bool keep_progress = false;
};
// Pull the state of `version`. In the background while training goes on (a heal: same round, the
// others agree on another state), else training has stopped and resumes from it.
struct Sync {
  Version version;
  std::vector<PeerId> holders;
  bool background = false;
};
struct BeaconNow {};
struct Finished {};
}  // namespace round_action

using RoundAction =
    std::variant<round_action::StartInner, round_action::StopInner, round_action::Prepare,
                 round_action::Publish, round_action::Fetch, round_action::Average,
                 round_action::Pair, round_action::Apply, round_action::Sync,
                 round_action::BeaconNow, round_action::Finished>;

class Round {
 public:
  explicit Round(RoundSettings settings);

  // Ordered: the caller performs the actions in this order.
  [[nodiscard]] std::vector<RoundAction> on(RoundEvent const& event, Instant now);

  [[nodiscard]] RoundPhase phase() const { return phase_; }
  [[nodiscard]] Version const& version() const { return version_; }
  [[nodiscard]] bool provisional() const { return provisional_; }
  [[nodiscard]] PeerState beacon_state() const;
  [[nodiscard]] SwarmView const& view() const { return view_; }
  [[nodiscard]] std::uint32_t inner_target() const { return inner_target_; }
  // A pull may end when the machine has long moved on: only this state may still be made ours.
  [[nodiscard]] bool awaits(Version const& version) const { return awaited_ == version; }
  // While collecting: who is in so far, and until when the rest is waited for.
  [[nodiscard]] std::vector<PeerId> contributors() const;
  [[nodiscard]] Instant collect_until() const { return collect_until_; }
  // The peers in the order in which they are responsible for a shard: rendezvous hashing, so that
  // one who leaves moves only its own shards.
  [[nodiscard]] static std::vector<PeerId> reducers(Hash const& run, std::uint64_t round,
                                                    std::uint32_t shard, std::vector<PeerId> peers);

 private:
  enum class Arrival : std::uint8_t { unknown, wanted, here, failed };
  // A blob asked for in this round. Several may name it, and not all of them have it.
  struct Asked {
    Arrival arrival = Arrival::unknown;
    std::set<PeerId> holders;
    std::size_t fetches = 0;  // under way
    std::string failure;      // of the last that failed
  };
  struct Candidate {
    PeerId reducer;
    ShardResult result;
  };
  struct Shard {
    std::vector<Candidate> candidates;  // results announced for it, one a reducer
    std::set<PeerId> bad_reducers;      // announced and did not serve
    std::vector<PeerId> before_us;      // of `ranked_`, those responsible before this peer
    bool averaging = false;
    bool averaged = false;
  };
  // What is known of one round: also of the next, whose messages may come early.
  struct Book {
    std::map<PeerId, Contribution> contributions;
    std::vector<Shard> shards;
  };

  void handle(round_event::Start const& event);
  void handle(round_event::BeaconSeen const& event);
  void handle(round_event::PeerLost const& event);
  void handle(round_event::ContributionSeen const& event);
  void handle(round_event::ResultSeen const& event);
  void handle(round_event::InnerDone const& event);
  void handle(round_event::InnerFailed const& event);
  void handle(round_event::Prepared const& event);
  void handle(round_event::Fetched const& event);
  void handle(round_event::Averaged const& event);
  void handle(round_event::PairClosed const& event);
  void handle(round_event::Applied const& event);
  void handle(round_event::Synced const& event);
  void handle(round_event::SyncFailed const& event);
  void handle(round_event::Rates const& event) { rates_ = event; }
  void handle(round_event::Tick const&) {}

  void go_on_together();
  void go_on_apart();
  void begin_round();
  void start_inner();
  void look_around();  // is the swarm ahead, or of another mind?
  void heal();         // pull what most others of this round agree on, if it is not ours
  void catch_up(Version const& ahead);
  void prepare();
  void sync_to(Version const& version);
  void retry_sync();
  [[nodiscard]] std::optional<Version> leaders() const;  // whom to follow, if the swarm is ahead

  void keep_up();
  void exchange(Contribution const& mine);
  void apply_apart(round_event::PairClosed const& closed);

  void start_collecting();
  void collect();
  void note_members();
  void reduce(std::uint32_t index);
  void want_inputs(std::uint32_t index);
  void want_results();
  void apply();
  void set_deadlines();

  [[nodiscard]] bool together() const { return settings_.mix == MixPattern::global; }
  Book& book_of(std::uint64_t round);
  [[nodiscard]] Book const& book() const { return books_.at(version_.round); }
  [[nodiscard]] std::vector<PeerId> expected() const;  // others that count here and now
  [[nodiscard]] Contribution const* contribution_of(PeerId const& peer) const;  // from our state
  [[nodiscard]] bool usable(Candidate const& candidate, std::uint32_t index) const;
  [[nodiscard]] Candidate const* best(std::uint32_t index) const;
  [[nodiscard]] Candidate const* best_here(std::uint32_t index) const;
  [[nodiscard]] Candidate const* better(Candidate const* a, Candidate const* b) const;
  [[nodiscard]] bool results_here() const;
  [[nodiscard]] bool results_known() const;
  [[nodiscard]] bool inputs_settled(std::uint32_t index) const;
  [[nodiscard]] std::vector<ShardResult::Input> inputs_here(std::uint32_t index) const;
  void rank_reducers();  // fills before_us, when others than before come into question
  [[nodiscard]] std::size_t rank_in(std::uint32_t index) const;
  [[nodiscard]] Asked const* asked(BlobRef const& blob) const;
  [[nodiscard]] Arrival arrival(BlobRef const& blob) const;
  [[nodiscard]] Instant overdue_at() const;
  void want(BlobRef const& blob, std::vector<PeerId> holders, Instant deadline);
  [[nodiscard]] Duration transfer_estimate() const;
  [[nodiscard]] bool runs_away() const;
  [[nodiscard]] std::string why_missing(PeerId const& peer) const;

  RoundSettings settings_;
  SwarmView view_;
  RoundPhase phase_ = RoundPhase::idle;
  Version version_;
  bool provisional_ = false;
  bool failed_ = false;             // the trainer's progress is worthless
  bool inner_done_ = false;         // in training: waits for a heal to end before preparing
  std::optional<Version> awaited_;  // asked for with the newest Sync; to heal, unless syncing
  std::optional<Instant> retry_sync_at_;
  std::uint32_t syncs_failed_ = 0;       // in a row
  std::uint64_t follow_from_ = 0;        // before this round of ours nobody ahead is believed
  std::uint64_t follow_pause_ = 1;       // rounds
  std::map<std::uint64_t, Book> books_;  // of this round and the next
  std::map<BlobRef, Asked> blobs_;       // of this round
  std::set<PeerId> members_ever_;        // who counted at some time in this round; bounded
  std::vector<PeerId> ranked_;           // the others whose ranks before_us holds
  std::uint32_t inner_target_ = 0;
  Duration inner_took_{};
  round_event::Rates rates_;
  Instant now_{};
  Instant round_started_{};
  Instant collect_started_{};
  Instant collect_until_{};
  Instant give_up_{};
  std::vector<RoundAction> actions_;
};

}  // namespace grapevine
