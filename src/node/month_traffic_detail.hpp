// MonthTraffic: the bytes of a calendar month (UTC), and what of a quota is kept back for the end
// of a round that is under way. One line in HOME/month.traffic. Pure, but for load() and save(),
// which block.
#pragma once

#include "grapevine/runtime/storage.hpp"

#include <cstdint>

namespace grapevine {

class MonthTraffic {
 public:
  // What was kept; nothing where nothing readable is. A month that is over ends with the next
  // add().
  [[nodiscard]] static MonthTraffic load(Storage& storage);
  Result<> save(Storage& storage) const;

  // A new month begins at nothing. When the clock goes back into a month that is over, the bytes
  // of the one it leaves count for that: what is used is not used again.
  void add(std::uint64_t bytes, std::uint64_t unix_s);
  void reserve(std::uint64_t round_bytes) { reserved_ = round_bytes; }
  [[nodiscard]] bool uses_up(std::uint64_t quota) const {
    return reserved_ >= quota || bytes_ >= quota - reserved_;
  }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] std::uint64_t reserved() const { return reserved_; }
  [[nodiscard]] std::uint64_t ends_unix_s() const { return ends_unix_s_; }  // 0: nothing added yet

  bool operator==(MonthTraffic const&) const = default;

 private:
  std::uint64_t bytes_ = 0;
  std::uint64_t ends_unix_s_ = 0;
  std::uint64_t reserved_ = 0;
};

}  // namespace grapevine
