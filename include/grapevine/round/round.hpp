// Round: the outer-step machine of DiLoCo with partial consensus (arXiv 2311.08105; the exchange of
// outer gradients is a butterfly, round/butterfly.hpp). Pure: events and instants in, actions out.
//
//            Start                InnerDone            Prepared             all shards, or give up
//   idle ──────────► training ─────────────► preparing ─────────► collecting ───────────► applying
//                     ▲  ▲ │                                        │    ▲                   │
//              Synced │  │ │ the swarm is ahead                     │    │ results known     │
//                     │  │ └──────────────► syncing ◄───────────────┘    └── (late, from     │
//                     └──┼──────────────────────┘                             training)      │
//                        └──────────────────────────────── Applied ──────────────────────────┘
//
// Pause leads to `paused`: at once while a peer trains or pulls a state, after the round while it
// mixes. Its beacon says so, nobody waits for it, and Resume brings it back as one that comes late.
//
// What it guarantees, asserted at each step: the round grows by exactly one per Apply and never
// shrinks; every wait has an end that follows from measured rates and is bounded by the manifest; a
// missing peer is a reason in `Apply::missing`, never a stop; nothing that was trained is thrown
// away (a late peer keeps its progress and contributes it a round later).
//
// That is DiLoCo: one state for all, and the mean of everybody's outer gradients. With any other
// pair of mixings (Factored Gossip DiLoCo, arXiv 2606.22768) every peer has a state of its own, so
// nobody heals and nobody is provisional. Mix1, of parameters, begins with the round and is
// overlapped with the inner steps; Mix2, of outer gradients, follows them. Each is a butterfly or
// an exchange with one other (round/pair_exchange.hpp; Pair asks for it, PairClosed ends it), or
// nothing; the round ends when both have.
#pragma once

#include "grapevine/round/butterfly.hpp"
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
  Mixing mixing;  // with mix1_momentum Mix1 has twice as many shards
  std::uint32_t shards = 1;
  std::uint32_t inner_steps = 1;
  std::uint64_t rounds = 0;      // finish before this round; 0: limits::rounds_max
  std::uint64_t mix1_bytes = 0;  // what one peer sends to Mix1, for the transfer estimate
  std::uint64_t mix2_bytes = 0;  // … and to Mix2
  Duration wait_min{};           // manifest.deadline_s_min
  Duration wait_max{};           // manifest.deadline_s_max
  Duration beacon_ttl{};         // a peer not heard of for so long is gone
};

enum class RoundPhase : std::uint8_t {
  idle,
  training,
  preparing,
  collecting,
  applying,
  syncing,
  paused,
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
using butterfly_event::Averaged;
using butterfly_event::ContributionSeen;
using butterfly_event::Fetched;
using butterfly_event::ResultSeen;
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
// Answers Pair.
struct PairClosed {
  pair_action::Closed how;
  std::uint64_t tokens = 0;  // of ours
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
// This peer is to rest: a round that it trains in is left, one that it mixes in is ended first.
struct Pause {};
// `provisional`: the others are well into the round it left, so it trains with weight zero until
// that is over.
struct Resume {
  bool provisional = false;
};
struct Tick {};
}  // namespace round_event

using RoundEvent =
    std::variant<round_event::Start, round_event::BeaconSeen, round_event::PeerLost,
                 round_event::ContributionSeen, round_event::ResultSeen, round_event::InnerDone,
                 round_event::InnerFailed, round_event::Prepared, round_event::Fetched,
                 round_event::Averaged, round_event::PairClosed, round_event::Applied,
                 round_event::Synced, round_event::SyncFailed, round_event::Rates,
                 round_event::Pause, round_event::Resume, round_event::Tick>;

namespace round_action {
using butterfly_action::Average;
using butterfly_action::Fetch;
using butterfly_action::Publish;
using butterfly_action::StopFetch;
struct StartInner {
  std::uint64_t first_step = 0;
  std::uint32_t steps = 0;
  bool again = false;  // the same round once more: what was mixed of it is as it was
};
struct StopInner {};
// Hash and serve what this peer brings to a mixing: its parameters or its outer gradient.
struct Prepare {
  MixLane lane = MixLane::gradients;
  std::uint64_t round = 0;
  Hash base;
};
// Find a partner for what was prepared, and exchange.
struct Pair {
  MixLane lane = MixLane::joint;
  Contribution mine;
  Duration inner_took{};
};
// What came of a mixing.
struct Mixed {
  using Input = butterfly_action::Closed::Input;
  using Missing = butterfly_action::Closed::Missing;
  MixLane lane = MixLane::gradients;
  MixPattern pattern = MixPattern::none;
  // With global: one a shard. Absent: with one state the shard does not move, else this peer goes
  // on with its own.
  std::vector<std::optional<BlobRef>> results;
  std::vector<bool> with_ours;    // of each result: this peer is among its inputs
  std::optional<PeerId> partner;  // with pair; absent: this peer goes on with its own
  std::optional<PeerId> doubt;    // the same, but this one's share may have to be added later
  std::vector<Input> inputs;
  std::vector<Missing> missing;
  Instant closed{};

  // What this peer brought as this shard was mixed with what others brought.
  [[nodiscard]] bool takes_ours(std::size_t shard) const {
    return pattern == MixPattern::pair ? partner.has_value()
                                       : shard < with_ours.size() && with_ours[shard];
  }
};
struct Apply {
  std::uint64_t round = 0;
  bool has_gradient = false;  // where every peer has its own state: without, it sits the round out
  std::vector<Mixed> mixed;
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
                 round_action::Publish, round_action::Fetch, round_action::StopFetch,
                 round_action::Average, round_action::Pair, round_action::Apply, round_action::Sync,
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
  [[nodiscard]] std::vector<PeerId> contributors() const { return gradients_.contributors(); }
  [[nodiscard]] Instant collect_until() const { return gradients_.collect_until(); }
  // Others still need what this peer has announced of this round.
  [[nodiscard]] bool waits_for_others() const {
    return phase_ == RoundPhase::collecting || parameters_.collecting();
  }

 private:
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
  void handle(round_event::Rates const& event);
  void handle(round_event::Pause const& event);
  void handle(round_event::Resume const& event);
  void handle(round_event::Tick const&) {}

  void go_on_together();
  void go_on_apart();
  void begin_round();
  void start_round();
  void start_inner(bool again);
  void rest_if_asked();
  void rest();
  void look_around();  // is the swarm ahead, or of another mind?
  void heal();         // pull what most others of this round agree on, if it is not ours
  [[nodiscard]] bool of_one_mind() const;
  [[nodiscard]] bool about_to_heal() const;
  [[nodiscard]] bool runs_away() const;
  void catch_up(Version const& ahead);
  void prepare();
  void sync_to(Version const& version);
  void retry_sync();
  [[nodiscard]] std::optional<Version> leaders() const;  // whom to follow, if the swarm is ahead

  void keep_up();
  void share_parameters();
  void exchange(MixLane lane, Contribution const& mine);
  void sit_out();
  void apply_if_mixed();
  [[nodiscard]] MixLane last_lane() const;  // the one after the inner steps
  [[nodiscard]] std::uint32_t shards_of(MixLane lane) const;
  [[nodiscard]] Duration inner_estimate() const;
  [[nodiscard]] ButterflySettings butterfly_settings(MixLane lane) const;

  void start_collecting();
  void mix(Butterfly& lane, ButterflyEvent const& event);
  void mix_both(ButterflyEvent const& event);
  void perform(butterfly_action::Closed const& closed);
  void apply_together(round_action::Mixed mixed);

  [[nodiscard]] bool together() const { return settings_.mixing.one_state(); }
  RoundSettings settings_;
  SwarmView view_;
  Butterfly parameters_;  // Mix1
  Butterfly gradients_;   // Mix2
  RoundPhase phase_ = RoundPhase::idle;
  Version version_;
  bool provisional_ = false;
  bool pause_asked_ = false;        // and not yet taken back
  bool inner_begun_ = false;        // of this round
  bool failed_ = false;             // the trainer's progress is worthless
  bool inner_done_ = false;         // in training: waits for a heal to end before preparing
  std::set<Version> unserved_;      // of this round: nobody gave us their state
  std::optional<Version> awaited_;  // asked for with the newest Sync; to heal, unless syncing
  std::optional<Instant> retry_sync_at_;
  std::uint32_t syncs_failed_ = 0;    // in a row
  std::uint64_t follow_from_ = 0;     // before this round of ours nobody ahead is believed
  std::uint64_t follow_pause_ = 1;    // rounds
  std::optional<Contribution> mine_;  // of this round, after the inner steps
  std::map<MixLane, round_action::Mixed> mixed_;  // what is done of it
  std::uint32_t inner_target_ = 0;
  Duration inner_took_{};
  Instant inner_ended_{};
  round_event::Rates rates_;
  Instant now_{};
  Instant round_started_{};
  std::vector<RoundAction> actions_;
};

}  // namespace grapevine
