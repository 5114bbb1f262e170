#include "grapevine/node/quiet_hours.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace grapevine;

namespace {

constexpr std::int64_t minute = 60, hour = 3600, day = 24 * hour;

}  // namespace

TEST_CASE("quiet hours over midnight, and within a day") {
  auto const night = QuietHours::parse("22:00-07:00").value();
  CHECK_FALSE(night.left(22 * hour - 1).has_value());
  CHECK(night.left(22 * hour) == 9 * hour);
  CHECK(night.left(day + 0) == 7 * hour);
  CHECK(night.left(5 * day + 7 * hour - 1) == 1);
  CHECK_FALSE(night.left(7 * hour).has_value());
  CHECK_FALSE(night.left(12 * hour).has_value());
  CHECK(night.left(-hour) == 8 * hour);  // an hour before the first midnight
  auto const noon = QuietHours::parse("11:30-13:15").value();
  CHECK(noon.left(11 * hour + 30 * minute) == 105 * minute);
  CHECK_FALSE(noon.left(13 * hour + 15 * minute).has_value());
  CHECK_FALSE(noon.left(0).has_value());
}

TEST_CASE("every minute of a day is in the hours exactly when it is between their ends") {
  auto const hours = QuietHours::parse("23:59-00:01").value();
  int inside = 0;
  for (std::int64_t at = 0; at < day; at += minute) inside += hours.left(at).has_value() ? 1 : 0;
  CHECK(inside == 2);
}

TEST_CASE("what is not a part of a day is refused") {
  for (std::string const text :
       {"", "-", "22:00", "22:00-", "-07:00", "22-07", "24:00-07:00", "22:60-07:00",
        "22:00-07:00-08:00", "2:00-07:00", "22:00 - 07:00", "aa:bb-cc:dd", "07:00-07:00"}) {
    CAPTURE(text);
    auto const parsed = QuietHours::parse(text);
    REQUIRE_FALSE(parsed.has_value());
    CHECK(parsed.error().errc() == Errc::usage);
  }
}
