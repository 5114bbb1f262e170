// QuietHours: the part of every day in which a peer rests, by the clock on the wall. Pure.
#pragma once

#include "grapevine/base/result.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace grapevine {

class QuietHours {
 public:
  // "22:00-07:00": from the first minute up to the second, over midnight where that comes first.
  // Errc::usage, also when both are the same.
  [[nodiscard]] static Result<QuietHours> parse(std::string_view text);

  // Seconds until they end, when `local_s` (seconds since any midnight of local time) is in them.
  [[nodiscard]] std::optional<std::uint64_t> left(std::int64_t local_s) const;

 private:
  QuietHours(std::uint32_t from_minute, std::uint32_t to_minute)
      : from_minute_(from_minute), to_minute_(to_minute) {}

  std::uint32_t from_minute_;
  std::uint32_t to_minute_;
};

}  // namespace grapevine
