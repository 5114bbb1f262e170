#include "grapevine/base/rate_cap.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <vector>

using namespace grapevine;

TEST_CASE("bookings pass one after another, at the rate") {
  RateCap cap(1000);
  Instant const now{};
  CHECK(cap.backlog(now) == Duration{});
  CHECK(cap.book(500, now) == now);
  CHECK(cap.backlog(now) == 500ms);
  CHECK(cap.book(1000, now) == now + 500ms);
  CHECK(cap.backlog(now) == 1500ms);
  CHECK(cap.backlog(now + 1s) == 500ms);
  CHECK(cap.book(1, now + 10s) == now + 10s);  // what was not used is lost
  CHECK(cap.time_of(250) == 250ms);
  CHECK(cap.bytes_in(3s) == 3000);
  CHECK(cap.book(0, now + 20s) == now + 20s);
}

TEST_CASE("no span of time sees more than the rate and one booking") {
  CHECK(rc::check("any bookings", [] {
    auto const rate = *rc::gen::inRange<std::uint64_t>(1, 1'000'000'000);
    auto const gaps_ms = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 3000));
    RateCap cap(rate);
    Instant now{};
    struct Booking {
      Instant begin;
      std::uint64_t bytes;
    };
    std::vector<Booking> made;
    for (int const gap : gaps_ms) {
      now += gap * Duration(1ms);
      auto const bytes = *rc::gen::inRange<std::uint64_t>(0, 2 * rate);
      made.push_back({cap.book(bytes, now), bytes});
      RC_ASSERT(made.back().begin >= now);
    }
    for (std::size_t from = 0; from < made.size(); ++from) {
      double passed = 0;
      for (std::size_t to = from; to < made.size(); ++to) {
        double const span_s = to_seconds(made[to].begin - made[from].begin);
        RC_ASSERT(passed <= span_s * static_cast<double>(rate) + 1e-3 * static_cast<double>(rate));
        passed += static_cast<double>(made[to].bytes);
      }
    }
  }));
}
