#include "grapevine/node/quiet_hours.hpp"

#include <string>

namespace grapevine {
namespace {

constexpr std::int64_t day_s = 24 * 3600;

std::optional<std::uint32_t> two_digits(std::string_view text, std::uint32_t below) {
  if (text[0] < '0' || text[0] > '9' || text[1] < '0' || text[1] > '9') return std::nullopt;
  auto const number = static_cast<std::uint32_t>((text[0] - '0') * 10 + (text[1] - '0'));
  return number < below ? std::optional(number) : std::nullopt;
}

std::optional<std::uint32_t> minute_of_day(std::string_view text) {
  if (text.size() != 5 || text[2] != ':') return std::nullopt;
  auto const hour = two_digits(text.substr(0, 2), 24);
  auto const minute = two_digits(text.substr(3), 60);
  if (!hour || !minute) return std::nullopt;
  return *hour * 60 + *minute;
}

}  // namespace

Result<QuietHours> QuietHours::parse(std::string_view text) {
  auto const dash = text.find('-');
  auto const from = minute_of_day(text.substr(0, dash));
  auto const to = dash == std::string_view::npos ? from : minute_of_day(text.substr(dash + 1));
  if (!from || !to) return fail(Errc::usage, std::string(text) + ": not hours such as 22:00-07:00");
  if (*from == *to)
    return fail(Errc::usage,
                std::string(text) + ": ends when it begins; hours such as 22:00-07:00 will do");
  return QuietHours(*from, *to);
}

std::optional<std::uint64_t> QuietHours::left(std::int64_t local_s) const {
  auto const since = [local_s](std::uint32_t minute) {
    return ((local_s - std::int64_t{minute} * 60) % day_s + day_s) % day_s;
  };
  auto const length = ((std::int64_t{to_minute_} - from_minute_) * 60 + day_s) % day_s;
  auto const gone = since(from_minute_);
  if (gone >= length) return std::nullopt;
  return static_cast<std::uint64_t>(length - gone);
}

}  // namespace grapevine
