#include "node/month_traffic_detail.hpp"

#include "unit/node/one_disk.hpp"

using namespace grapevine;
using grapevine::test::OneDisk;

namespace {

constexpr std::uint64_t december_2026 = 1796083200;  // date -u -d 2026-12-01 +%s
constexpr std::uint64_t january_2027 = 1798761600;

}  // namespace

TEST_CASE("bytes are counted by the month they fall into") {
  MonthTraffic traffic;
  traffic.add(5, december_2026);
  CHECK(traffic.bytes() == 5);
  CHECK(traffic.ends_unix_s() == january_2027);
  traffic.add(7, january_2027 - 1);
  CHECK(traffic.bytes() == 12);
  traffic.add(1, january_2027);
  CHECK(traffic.bytes() == 1);
  traffic.add(1, december_2026);  // the clock was wrong, then or now
  CHECK(traffic.bytes() == 2);
  CHECK(traffic.ends_unix_s() == january_2027);
}

TEST_CASE("a quota is used up when what is left is no more than a round takes") {
  MonthTraffic traffic;
  traffic.add(90, december_2026);
  CHECK_FALSE(traffic.uses_up(100));
  CHECK(traffic.uses_up(90));
  traffic.reserve(9);
  CHECK_FALSE(traffic.uses_up(100));
  traffic.reserve(10);
  CHECK(traffic.uses_up(100));
  traffic.reserve(101);
  CHECK(traffic.uses_up(100));
  traffic.add(0, january_2027);
  CHECK_FALSE(traffic.uses_up(100));  // one large round spoils no other month
  traffic.reserve(101);
  CHECK(traffic.uses_up(100));
}

TEST_CASE("months end where the calendar says") {
  auto const end_after = [](std::uint64_t unix_s) {
    MonthTraffic traffic;
    traffic.add(0, unix_s);
    return traffic.ends_unix_s();
  };
  CHECK(end_after(0) == 31ULL * 86400);
  CHECK(end_after(1709164800) == 1709251200);  // 2024-02-29 is a day of its own
  CHECK(end_after(1709251200) == 1711929600);  // 2024-03-01 to 2024-04-01
}

TEST_CASE("the bytes of a month outlive a crash, and what is no such line is as none") {
  OneDisk disk;
  CHECK(MonthTraffic::load(disk.storage()) == MonthTraffic());
  MonthTraffic traffic;
  traffic.add(200'000'000'000, december_2026);
  traffic.reserve(5'000'000);
  REQUIRE(traffic.save(disk.storage()).has_value());
  disk.lose_power();
  CHECK(MonthTraffic::load(disk.storage()) == traffic);
  for (std::string_view const text :
       {"", "1798761600", "1798761600 ", "1798761600 5", "1798761600 5 ", "1798761600 5 x",
        "1798761600 5 6\n", "1798761600 5 6 7", "-1 5 6", " 5 6",
        "1798761600 99999999999999999999 6"}) {
    CAPTURE(text);
    REQUIRE(disk.storage().write_atomic("month.traffic", as_bytes(text)).has_value());
    CHECK(MonthTraffic::load(disk.storage()) == MonthTraffic());
  }
}
