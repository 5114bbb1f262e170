// PairStore: what must outlive a crash of a pair exchange (pair.db): the commits this peer decided
// as coordinator, and the exchanges it closed in doubt, each with the correction it may still owe
// (a file under pair/). Blocking: used on the heavy worker only. Bounded: the oldest decisions are
// forgotten; doubts are as many as the machine keeps.
#pragma once

#include "grapevine/round/pair_exchange.hpp"
#include "grapevine/runtime/storage.hpp"
#include "node/pair_state_detail.hpp"

namespace grapevine {

// An exchange this peer closed alone without knowing whether its partner committed.
struct PairDoubt {
  std::uint64_t sat_out = 0;             // rounds since in which it took no outer step
  std::optional<std::uint64_t> applied;  // the first round that starts with the correction in it
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
  // Errc::not_found, Errc::hash_mismatch.
  Result<StateCorrection> correction(PairKey const& exchange);
  Result<> forget_doubt(PairKey const& exchange);

 private:
  explicit PairStore(Storage& storage) : storage_(storage) {}

  Storage& storage_;
  std::unique_ptr<Database> database_;
  std::string set_aside_;
};

}  // namespace grapevine
