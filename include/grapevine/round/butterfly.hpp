// Butterfly: one mixing of everybody with everybody, with partial consensus. Every shard of what is
// mixed has a reducer, which pulls that shard from every contributor, averages, and announces the
// result for all to pull. Pure: events and instants in, actions out; the SwarmView is read, never
// changed.
//
//           Began                 Collect              all shards here, or the time is over
//   idle ──────────► listening ─────────────► collecting ──────────► closed
//                     ▲     ▲        Left          │                    │
//                     │     └──────────────────────┘                    │ Began
//                     └─────────────────────────────────────────────────┘
//
// While listening it takes in what others announce, of this round and, early, of the next; a peer
// that will reduce a shard pulls its inputs already. What it guarantees: every wait has an end that
// follows from measured rates and from what comes, and is bounded by the settings; a result that
// its reducer does not give is had from those who have it; a dead reducer is replaced by the next
// in rank; peers that know the same peers and candidates choose the same result; a missing peer is
// a reason in `Closed::missing`, never a stop.
#pragma once

#include "grapevine/round/quorum_wait.hpp"
#include "grapevine/round/swarm_view.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace grapevine {

struct ButterflySettings {
  Hash run;
  PeerId self;
  MixLane lane = MixLane::gradients;
  // Everyone is to come to one state: only what was made from ours counts, and an average counts
  // even where this peer is not among its inputs. Else every peer has a state of its own, and who
  // is not among the inputs of an average stays outside.
  bool one_state = true;
  // The mixing goes on while everybody trains, from the beginning of the round: those who are still
  // in the round before are waited for too.
  bool overlapped = false;
  std::uint32_t shards = 1;
  std::uint64_t payload_bytes = 0;  // of one peer's shards together, for the transfer estimate
  Duration wait_min{};              // manifest.deadline_s_min
  Duration wait_max{};              // manifest.deadline_s_max
};

// A blob, and as what it is asked for: that says how it is to be read. One blob may be named as
// several things, by mistake, by chance (zeros) or by a liar.
struct ShardBlob {
  MixLane lane = MixLane::gradients;
  std::uint32_t shard = 0;
  bool result = false;  // of a reducer; else what a contributor brought
  BlobRef blob;
  auto operator<=>(ShardBlob const&) const = default;
};

namespace butterfly_event {
// A round begins, from this state.
struct Began {
  Version version;
  bool contributes = true;  // this peer will bring something
};
// The same round, from another state: only what others made from it counts from now on.
struct Moved {
  Version version;
};
struct ContributionSeen {
  PeerId peer;
  Contribution contribution;
};
struct ResultSeen {
  PeerId reducer;
  ShardResult result;
};
// What this peer brings; its blobs are served.
struct Contributed {
  Contribution mine;
};
// From now on the others are waited for, no longer than `inner_took` and a transfer.
struct Collect {
  Duration inner_took{};
};
struct Fetched {
  ShardBlob what;
  std::string failure;  // empty: it is here, of the right size, and finite
};
struct Averaged {
  MixLane lane = MixLane::gradients;
  std::uint64_t round = 0;
  std::uint32_t shard = 0;
  BlobRef result;
  std::string failure;
};
// Of this peer, as measured; 0 when unknown.
struct Rate {
  double bytes_per_s = 0;
};
// This peer no longer waits for the others, and pulls nothing for them.
struct Left {};
// Time has passed or the view has changed. Only this ends a wait.
struct Tick {};
}  // namespace butterfly_event

using ButterflyEvent =
    std::variant<butterfly_event::Began, butterfly_event::Moved, butterfly_event::ContributionSeen,
                 butterfly_event::ResultSeen, butterfly_event::Contributed,
                 butterfly_event::Collect, butterfly_event::Fetched, butterfly_event::Averaged,
                 butterfly_event::Rate, butterfly_event::Left, butterfly_event::Tick>;

namespace butterfly_action {
struct Publish {
  Announcement announcement;
};
struct Fetch {
  ShardBlob what;
  std::vector<PeerId> holders;
  Instant deadline{};
  std::optional<float> norm_max;  // a part of a gradient: what its author claims for the whole
};
// It is not needed any more. No Fetched follows, and if one does, nothing comes of it.
struct StopFetch {
  ShardBlob what;
};
struct Average {
  MixLane lane = MixLane::gradients;
  std::uint64_t round = 0;
  std::uint32_t shard = 0;
  std::vector<ShardResult::Input> inputs;  // in canonical order; their blobs are here
};
struct Closed {
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
  MixLane lane = MixLane::gradients;
  std::uint64_t round = 0;
  std::vector<std::optional<BlobRef>> results;  // one a shard; absent: nothing usable for us came
  std::vector<bool> with_ours;                  // of each: this peer is among its inputs
  std::vector<Input> inputs;                    // of any of the results
  std::vector<Missing> missing;
};
}  // namespace butterfly_action

using ButterflyAction =
    std::variant<butterfly_action::Publish, butterfly_action::Fetch, butterfly_action::StopFetch,
                 butterfly_action::Average, butterfly_action::Closed>;

class Butterfly {
 public:
  // `view` outlives this.
  Butterfly(ButterflySettings settings, SwarmView const& view);

  // Ordered: the caller performs the actions in this order.
  [[nodiscard]] std::vector<ButterflyAction> on(ButterflyEvent const& event, Instant now);

  [[nodiscard]] bool collecting() const { return phase_ == Phase::collecting; }
  // Whose contributions count here, so far.
  [[nodiscard]] std::vector<PeerId> contributors() const;
  // A usable result of every shard has been announced.
  [[nodiscard]] bool results_known() const;
  // While collecting: until when the rest is waited for.
  [[nodiscard]] Instant collect_until() const { return collect_until_; }
  // For each shard the peers in the order in which they are responsible for it. The first is the
  // one with the fewest shards so far, as the slowest link decides when all are averaged; among
  // equals, and from the second on, rendezvous hashing decides, so that one who leaves moves few
  // shards that are not its own. `peers` is not empty.
  [[nodiscard]] static std::vector<std::vector<PeerId>> reducers(Hash const& run,
                                                                 std::uint64_t round,
                                                                 std::uint32_t shards,
                                                                 std::vector<PeerId> const& peers);

 private:
  enum class Phase : std::uint8_t { idle, listening, collecting, closed };
  enum class Arrival : std::uint8_t { unknown, wanted, here, failed };
  // A blob asked for in this round. Several may name it, and not all of them have it.
  struct Asked {
    Arrival arrival = Arrival::unknown;
    std::set<PeerId> holders;
    std::size_t fetches = 0;       // under way
    std::string failure;           // of the last that failed
    Instant wanted_at{};           // first
    std::size_t asked_around = 0;  // times that others than its reducers were asked for it
    Instant ask_again{};
  };
  struct Candidate {
    PeerId reducer;
    ShardResult result;
    // What was found sound once stays so while the state and our own part are the same: others'
    // contributions and members are only added.
    mutable bool known_sound = false;
  };
  struct Shard {
    std::vector<Candidate> candidates;       // results announced for it, one a reducer
    std::set<PeerId> bad_reducers;           // announced and did not serve
    std::vector<PeerId> before_us;           // of `ranked_`, those responsible before this peer
    std::vector<ShardResult::Input> inputs;  // that this peer averages at the moment
    std::optional<Instant> inputs_until;     // of a successor, that wants them late
    bool averaging = false;
    bool averaged = false;
  };
  // What is known of one round: also of the next, whose messages may come early.
  struct Book {
    std::map<PeerId, Contribution> contributions;
    std::vector<Shard> shards;
  };

  void handle(butterfly_event::Began const& event);
  void handle(butterfly_event::Moved const& event);
  void handle(butterfly_event::ContributionSeen const& event);
  void handle(butterfly_event::ResultSeen const& event);
  void handle(butterfly_event::Contributed const& event);
  void handle(butterfly_event::Collect const& event);
  void handle(butterfly_event::Fetched const& event);
  void handle(butterfly_event::Averaged const& event);
  void handle(butterfly_event::Rate const& event) { bytes_per_s_ = event.bytes_per_s; }
  void handle(butterfly_event::Left const&);
  void handle(butterfly_event::Tick const&);

  void judge_anew();  // what was announced, after the state or our own part has changed
  void note_members();
  void set_deadlines();
  void set_give_up(Duration grace);
  void note_progress();
  void collect();
  void reduce(std::uint32_t index);
  void want_inputs(std::uint32_t index);
  void want_results();
  void close();
  void want(butterfly_action::Fetch fetch);  // from those who were not asked yet
  void fetch(butterfly_action::Fetch fetch);
  void ask_around(std::uint32_t index);
  void stop_fetches();
  void rank_reducers();  // fills before_us, when others than before come into question

  Book& book_of(std::uint64_t round);
  [[nodiscard]] Book const& book() const { return books_.at(version_.round); }
  [[nodiscard]] std::vector<PeerId> expected() const;  // others that count here and now
  [[nodiscard]] std::vector<PeerId> responsible() const;
  [[nodiscard]] Contribution const* contribution_of(PeerId const& peer) const;  // from our state
  [[nodiscard]] bool comes_from_here(Contribution const& contribution) const;
  // Made of what counts here, by one who may, and what its inputs' authors have announced.
  [[nodiscard]] bool sound(Candidate const& candidate, std::uint32_t index) const;
  [[nodiscard]] bool has_ours(Candidate const& candidate) const;
  [[nodiscard]] bool is_first(Candidate const& candidate) const;  // it was its reducer's turn
  [[nodiscard]] bool right(Candidate const& candidate, std::uint32_t index) const;
  [[nodiscard]] bool late(Candidate const& candidate) const;
  [[nodiscard]] bool usable(Candidate const& candidate, std::uint32_t index) const;
  [[nodiscard]] std::vector<PeerId> some_others(std::set<PeerId> const& except,
                                                std::size_t turn) const;
  [[nodiscard]] Candidate const* best(std::uint32_t index) const;
  [[nodiscard]] Candidate const* best_here(std::uint32_t index) const;
  [[nodiscard]] Candidate const* better(Candidate const* a, Candidate const* b) const;
  // Where nothing of it is usable here: it was averaged without this peer, by the one whose turn it
  // was, and every peer has its own state.
  [[nodiscard]] bool left_out(std::uint32_t index) const;
  [[nodiscard]] bool result_settled(std::uint32_t index) const;
  [[nodiscard]] bool results_settled() const;
  [[nodiscard]] bool inputs_settled(std::uint32_t index) const;
  [[nodiscard]] bool inputs_pending(std::uint32_t index) const;
  [[nodiscard]] bool inputs_pending() const;  // of the shards that are ours to average
  [[nodiscard]] bool results_pending() const;
  [[nodiscard]] std::vector<ShardResult::Input> inputs_here(std::uint32_t index) const;
  // By place, of inputs whose contributions are known: whether it is no larger than may be.
  [[nodiscard]] std::vector<bool> bounded(std::vector<ShardResult::Input> const& inputs) const;
  [[nodiscard]] std::size_t rank_in(std::uint32_t index) const;
  [[nodiscard]] ShardBlob input_of(Contribution const& contribution, std::uint32_t index) const;
  [[nodiscard]] ShardBlob result_of(Candidate const& candidate) const;
  [[nodiscard]] Asked const* asked(ShardBlob const& what) const;
  [[nodiscard]] Arrival arrival(ShardBlob const& what) const;
  [[nodiscard]] Duration transfer() const;
  [[nodiscard]] Duration turn() const;
  [[nodiscard]] bool some_come_later() const;
  [[nodiscard]] std::string why_missing(PeerId const& peer) const;

  ButterflySettings settings_;
  SwarmView const& view_;
  Phase phase_ = Phase::idle;
  Version version_;
  bool contributes_ = true;
  std::map<std::uint64_t, Book> books_;  // of this round and the next
  std::map<ShardBlob, Asked> blobs_;     // of this round
  std::set<PeerId> members_ever_;        // who counted at some time in this round; bounded
  std::set<PeerId> excused_;             // of those, who paused: planned, so it is no failure
  std::vector<PeerId> ranked_;           // the others whose ranks before_us holds
  Duration inner_took_{};
  double bytes_per_s_ = 0;
  Instant now_{};
  Instant collect_started_{};
  Instant collect_until_{};
  Duration grace_{};
  Instant overdue_at_{};  // from then on a result that has not come gives way to another
  Instant give_up_{};
  QuorumWait inputs_wait_;
  QuorumWait results_wait_;
  std::vector<ButterflyAction> actions_;
};

}  // namespace grapevine
