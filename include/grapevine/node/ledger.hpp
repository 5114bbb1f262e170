// Ledger: what this peer merged, round by round: signed entries in a chain by hash (ledger.db), and
// the figures of each round for people. An entry is durable before the round that follows it
// counts. Blocking: used on the heavy worker only.
#pragma once

#include "grapevine/node/snapshot.hpp"
#include "grapevine/runtime/storage.hpp"

#include <memory>

namespace grapevine {

class Ledger {
 public:
  struct Head {
    std::uint64_t entries = 0;
    Hash hash;  // of the newest signed entry, zero before the first
  };
  static Result<std::unique_ptr<Ledger>> open(Storage& storage);

  [[nodiscard]] std::string const& set_aside() const {
    return set_aside_;
  }  // a damaged file, or ""
  [[nodiscard]] Head const& head() const { return head_; }
  // What a round adds: all of it or nothing. The first entry must name head().hash as its previous,
  // each next one that before it.
  Result<> append(std::uint64_t round, std::vector<Bytes> const& signed_entries,
                  RoundRecord const& record);
  Result<std::vector<RoundRecord>> history(std::uint64_t since, std::size_t max);
  // Entries in the order they were made, oldest first.
  Result<std::vector<Bytes>> entries(std::uint64_t first, std::size_t max);

 private:
  std::unique_ptr<Database> database_;
  std::string set_aside_;
  Head head_;
};

}  // namespace grapevine
