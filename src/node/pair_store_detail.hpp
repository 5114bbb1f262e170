// PairStore: what must outlive a crash of a pair exchange (pair.db): the commits this peer decided
// as coordinator, and the exchanges it closed in doubt, each with the correction it may still owe
// (a file under pair/). Blocking: used on the heavy worker only. Bounded: the oldest decisions are
// forgotten; doubts are as many as the machine keeps.
//
// What a crash between a commit and the next durable checkpoint leaves: the decision, so that the
// partner always learns of it and keeps its half; not the exchange itself. This peer comes back
// with the state before it, or with another peer's where others are ahead, so that what it trained
// in that round is lost with its memory, as with every crash, and so is what it would have taken
// over from its partner.
#pragma once

#include "grapevine/round/pair_exchange.hpp"
#include "grapevine/runtime/storage.hpp"
#include "node/mixed_state_detail.hpp"

namespace grapevine {

// An exchange this peer closed alone without knowing whether its partner committed.
struct PairDoubt {
  std::uint64_t sat_out = 0;       // rounds since in which it took no outer step
  std::optional<Version> applied;  // the first state with the correction in it

  // Whether a state that this peer has come to holds the correction. Of the round of `applied`
  // there are two: one without it, from before the partner said that it had committed.
  [[nodiscard]] bool is_in(Version const& state) const {
    return applied && (applied->round < state.round || *applied == state);
  }
};

class PairStore {
 public:
  static Result<std::unique_ptr<PairStore>> open(Storage& storage);

  [[nodiscard]] std::string const& set_aside() const { return set_aside_; }
  Result<std::set<PairKey>> decisions();
  Result<> decide(PairKey const& exchange);

  Result<std::map<PairKey, PairDoubt>> doubts();
  Result<> keep_doubt(PairKey const& exchange, StateCorrection const& correction);
  Result<> update_doubt(PairKey const& exchange, PairDoubt const& doubt);
  // Of a model of so many elements. Errc::not_found, Errc::oversize, Errc::hash_mismatch.
  Result<StateCorrection> correction(PairKey const& exchange, std::uint64_t elements);
  Result<> forget_doubt(PairKey const& exchange);

 private:
  explicit PairStore(Storage& storage) : storage_(storage) {}

  Storage& storage_;
  std::unique_ptr<Database> database_;
  std::string set_aside_;
};

}  // namespace grapevine
