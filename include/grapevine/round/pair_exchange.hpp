// PairExchange: which two peers exchange in a round, and that both apply what they exchanged or
// neither does. Matching without a global view (Hoepman's locally heaviest edge): an edge weighs
// SHA-256(run, round, lane, lower id, higher id); each peer offers to its heaviest candidate, and
// two that have offered to each other are matched. Pure: events and instants in, actions out; the
// SwarmView is read, never changed.
//
//          Ready            two offers           Pulled          commit, or for good: abort
//   idle ────────► proposing ────────► pulling ────────► prepared ──────────► closed
//    ▲                 ▲                  │    (higher id)   │                  ▲  │
//    │                 └──────────────────┴──────────────────┘ abort            │  │ Began
//    │                                    │ (lower id, both have pulled)        │  │
//    │                                    └──────────────► deciding ────────────┘  │
//    └─────────────────────────────────────────────────────────────────────────────┘
//
// The lower id coordinates. It decides `commit` once both have pulled, and its decision is durable
// before it is told; what it has not decided is `abort`, for ever: partners whose exchange failed
// do not try again in that round. The higher id may give up only before it has said `prepared`;
// after that it asks until its deadline, then closes the round alone and keeps asking
// (Closed.doubt, then Settled). Who closes alone, whatever the reason, takes its own outer step.
#pragma once

#include "grapevine/round/swarm_view.hpp"

#include <set>
#include <string>
#include <utility>
#include <variant>

namespace grapevine {

struct PairSettings {
  Hash run;
  PeerId self;
  MixLane lane = MixLane::joint;
  // The exchange goes on while everybody trains, from the beginning of the round: nobody has to
  // finish first, and those who are still in the round before are waited for too.
  bool overlapped = false;
  std::uint64_t payload_bytes = 0;  // of one side, for the transfer estimate
  Duration wait_min{};              // manifest.deadline_s_min
  Duration wait_max{};              // manifest.deadline_s_max
};

// An exchange as one of its two sides names it.
struct PairKey {
  std::uint64_t round = 0;
  MixLane lane = MixLane::joint;
  PeerId partner;
  auto operator<=>(PairKey const&) const = default;
};

// What survives a restart.
struct PairMemory {
  std::set<PairKey> committed;  // decided by this peer, as the lower id
  std::set<PairKey> doubts;     // closed alone after `prepared`; the partner still has to say
};

enum class PairPhase : std::uint8_t { idle, proposing, pulling, prepared, deciding, closed };

namespace pair_event {
// A round begins. `replaced`: from a state that is another peer's, so that what was under way or in
// doubt about the state before it matters no more.
struct Began {
  std::uint64_t round = 0;
  bool replaced = false;
};
// The inner steps of the round are done and the blobs of `mine` are served.
struct Ready {
  MixOffer mine;  // `to` is filled in for each partner
  Duration inner_took{};
  double bytes_per_s = 0;  // of this peer, as measured; 0 when unknown
};
struct OfferSeen {
  PeerId from;
  MixOffer offer;
};
struct AnswerSeen {
  PeerId from;
  MixAnswer answer;
};
// The connection ended, or a message to it could not be delivered.
struct PeerLost {
  PeerId peer;
};
struct Pulled {
  PairKey exchange;
  std::string failure;  // empty: all its blobs are here, of the right size, and finite
};
// Answers Decide.
struct Decided {
  PairKey exchange;
  std::string failure;  // empty: the decision is durable
};
struct Tick {};
}  // namespace pair_event

using PairEvent = std::variant<pair_event::Began, pair_event::Ready, pair_event::OfferSeen,
                               pair_event::AnswerSeen, pair_event::PeerLost, pair_event::Pulled,
                               pair_event::Decided, pair_event::Tick>;

namespace pair_action {
struct Send {
  PeerId to;
  std::variant<MixOffer, MixAnswer> message;
};
struct Pull {
  PairKey exchange;
  MixOffer theirs;
  Instant deadline{};
};
// The pull is of no use any more: the exchange it was for has ended. It may have ended itself.
struct StopPull {
  PairKey exchange;
};
// Make the decision to commit durable.
struct Decide {
  PairKey exchange;
};
struct Closed {
  struct Missing {
    PeerId peer;
    std::string reason;
  };
  std::uint64_t round = 0;
  MixLane lane = MixLane::joint;
  std::optional<PeerId> partner;  // both apply; else the round is closed alone
  std::optional<PeerId> doubt;    // alone, but this partner may have committed: keep what it takes
  std::vector<Missing> missing;
};
// What became of an exchange that was in doubt.
struct Settled {
  PairKey exchange;
  bool committed = false;
};
}  // namespace pair_action

using PairAction = std::variant<pair_action::Send, pair_action::Pull, pair_action::StopPull,
                                pair_action::Decide, pair_action::Closed, pair_action::Settled>;

class PairExchange {
 public:
  // `view` outlives this.
  PairExchange(PairSettings settings, SwarmView const& view, PairMemory memory);

  // Ordered: the caller performs the actions in this order, and messages to one peer arrive in it.
  [[nodiscard]] std::vector<PairAction> on(PairEvent const& event, Instant now);

  [[nodiscard]] PairPhase phase() const { return phase_; }
  [[nodiscard]] std::optional<PeerId> const& partner() const { return partner_; }
  [[nodiscard]] static Hash edge(Hash const& run, std::uint64_t round, MixLane lane,
                                 PeerId const& a, PeerId const& b);

 private:
  // What is known of a peer in this round.
  struct Other {
    std::optional<MixOffer> offer;  // it proposes
    bool dropped = false;           // not available, until it proposes again
    bool failed = false;            // never again in this round
    std::string reason;             // of the failure
  };

  void handle(pair_event::Began const& event);
  void handle(pair_event::Ready const& event);
  void handle(pair_event::OfferSeen const& event);
  void handle(pair_event::AnswerSeen const& event);
  void handle(pair_event::PeerLost const& event);
  void handle(pair_event::Pulled const& event);
  void handle(pair_event::Decided const& event);
  void handle(pair_event::Tick const&) {}

  void advance();
  void choose();
  void match();
  void decline(PeerId const& peer);  // it is not free for us
  void give_up(std::string reason);  // on the partner, before either is bound
  void leave_partner();
  void close(std::optional<PeerId> partner, std::optional<PeerId> doubt);
  void peer_prepared(PeerId const& peer, std::uint64_t round);
  void committed_by(PeerId const& peer, std::uint64_t round);
  void aborted_by(PeerId const& peer, std::uint64_t round);
  void decide_if_ready();
  void settle(PairKey const& exchange, bool committed);
  void drop_those_too_slow();
  void repeat();
  void ask_again();

  void offer_to(PeerId const& peer);
  void answer(PeerId const& peer, std::uint64_t round, MixVerdict verdict);
  void refuse_the_rest();
  Other* other(PeerId const& peer);  // null: unknown, and no room for one more
  [[nodiscard]] bool has_offer(PeerId const& peer) const;
  [[nodiscard]] std::optional<PeerId> heaviest() const;
  [[nodiscard]] bool worth_waiting() const;
  [[nodiscard]] Instant propose_until() const;
  [[nodiscard]] Instant latest_match() const;
  [[nodiscard]] Duration transfer() const;
  [[nodiscard]] bool coordinates(PeerId const& peer) const { return settings_.self < peer; }
  [[nodiscard]] PairKey key(std::uint64_t round, PeerId const& partner) const {
    return {round, settings_.lane, partner};
  }
  [[nodiscard]] PairKey key() const { return key(round_, *partner_); }

  PairSettings settings_;
  SwarmView const& view_;
  PairMemory memory_;
  PairPhase phase_ = PairPhase::idle;
  std::uint64_t round_ = 0;
  MixOffer mine_;
  std::map<PeerId, Other> others_;
  std::optional<PeerId> target_;   // offered to, not answered
  std::optional<PeerId> partner_;  // matched with
  bool pulled_ = false;
  bool peer_prepared_ = false;
  Duration inner_took_{};
  double bytes_per_s_ = 0;
  Instant now_{};
  Instant ready_at_{};
  Instant exchange_until_{};
  Instant doubt_until_{};
  Instant said_at_{};   // when the newest offer or `prepared` was sent
  Instant asked_at_{};  // when the doubts were asked about
  std::vector<PairAction> actions_;
};

}  // namespace grapevine
