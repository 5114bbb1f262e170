#include "grapevine/sim/shared_links.hpp"

#include "grapevine/base/random.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace grapevine;
using namespace grapevine::sim;

namespace {

constexpr double tolerance = 1e-5;

// Runs until everything has ended. The instant of each transfer, in seconds, by its number.
std::vector<double> ends(SharedLinks& links, std::size_t count) {
  std::vector<double> ended(count, -1);
  while (auto const next = links.next_end())
    for (auto const transfer : links.take_ended(*next))
      ended.at(transfer) = to_seconds(next->time_since_epoch());
  return ended;
}

}  // namespace

TEST_CASE("one transfer takes its bytes over the lower of the two rates") {
  SharedLinks links({{100, 100}, {7, 40}});
  links.start(0, 1, 1000, Instant{});
  CHECK(ends(links, 1)[0] == doctest::Approx(1000.0 / 40).epsilon(tolerance));
  CHECK(links.sent(0) == doctest::Approx(1000));
  CHECK(links.received(1) == doctest::Approx(1000));
  CHECK(links.sent(1) == 0);
}

TEST_CASE("two transfers that share a link have half of it each until one ends") {
  SharedLinks links({{100, 1000}, {1000, 1000}, {1000, 1000}});
  links.start(0, 1, 1000, Instant{});
  links.start(0, 2, 3000, Instant{});
  auto const at = ends(links, 2);
  // 1000 B at 50 B/s; the other has 1000 B by then and does the last 2000 B at 100 B/s.
  CHECK(at[0] == doctest::Approx(20).epsilon(tolerance));
  CHECK(at[1] == doctest::Approx(20 + 20).epsilon(tolerance));
}

TEST_CASE("what a slow end leaves of a shared link is for the others") {
  SharedLinks links({{100, 1000}, {1000, 20}, {1000, 1000}});
  links.start(0, 1, 200, Instant{});   // 20 B/s, as its end takes no more
  links.start(0, 2, 1600, Instant{});  // so 80 B/s, not 50
  auto const at = ends(links, 2);
  CHECK(at[0] == doctest::Approx(10).epsilon(tolerance));
  CHECK(at[1] == doctest::Approx(10 + 800.0 / 100).epsilon(tolerance));
}

TEST_CASE("the two directions of a link do not share") {
  SharedLinks links({{100, 100}, {100, 100}});
  links.start(0, 1, 1000, Instant{});
  links.start(1, 0, 1000, Instant{});
  for (auto const at : ends(links, 2)) CHECK(at == doctest::Approx(10).epsilon(tolerance));
}

TEST_CASE("one that starts later takes its share from then on") {
  SharedLinks links({{100, 100}, {100, 100}, {100, 100}});
  links.start(0, 1, 1000, Instant{});
  CHECK(links.take_ended(Instant{} + 5s).empty());
  links.start(0, 2, 1000, Instant{} + 5s);  // 500 B of the first are left
  auto const at = ends(links, 2);
  CHECK(at[0] == doctest::Approx(5 + 500.0 / 50).epsilon(tolerance));
  CHECK(at[1] == doctest::Approx(15 + 500.0 / 100).epsilon(tolerance));
}

TEST_CASE("one that is cancelled leaves its share to the others") {
  SharedLinks links({{100, 100}, {100, 100}, {100, 100}});
  auto const given_up = links.start(0, 1, 1000, Instant{});
  links.start(0, 2, 1000, Instant{});
  CHECK(links.cancel(given_up, Instant{} + 4s) == doctest::Approx(200));
  CHECK(ends(links, 2)[1] == doctest::Approx(4 + 800.0 / 100).epsilon(tolerance));
  CHECK(links.sent(0) == doctest::Approx(1200));
}

// Of everybody to everybody each link carries M - 1 parts: the (M-1)/M S/B that half of a ring
// takes.
TEST_CASE("all to all is limited by every link alike") {
  constexpr std::size_t peers = 6;
  SharedLinks links(std::vector<LinkRates>(peers, {50, 50}));
  for (std::size_t from = 0; from < peers; ++from)
    for (std::size_t to = 0; to < peers; ++to)
      if (from != to) links.start(from, to, 600.0 / peers, Instant{});
  for (auto const at : ends(links, peers * (peers - 1)))
    CHECK(at == doctest::Approx(600.0 * (peers - 1) / peers / 50).epsilon(tolerance));
}

// Whatever the links and transfers: every byte arrives, no link carries more than its rate allows,
// and none ends earlier than its slower end alone would let it.
TEST_CASE("drawn transfers keep to the rates") {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    CAPTURE(seed);
    SeededRandom random(seed);
    std::size_t const peers = 2 + random.below(6);
    std::vector<LinkRates> rates;
    for (std::size_t i = 0; i < peers; ++i)
      rates.push_back({10 + 90 * random.unit(), 10 + 90 * random.unit()});
    SharedLinks links(rates);
    std::vector<double> to_send(peers), to_receive(peers), alone;
    for (int i = 0; i < 30; ++i) {
      auto const from = random.below(peers);
      auto const to = (from + 1 + random.below(peers - 1)) % peers;
      double const bytes = 1 + 1000 * random.unit();
      to_send[from] += bytes;
      to_receive[to] += bytes;
      alone.push_back(bytes / std::min(rates[from].up, rates[to].down));
      links.start(from, to, bytes, Instant{});
    }
    auto const at = ends(links, alone.size());
    double const last = std::ranges::max(at);
    double busiest = 0;
    for (std::size_t i = 0; i < at.size(); ++i) CHECK(at[i] >= alone[i] * (1 - tolerance));
    for (std::size_t i = 0; i < peers; ++i) {
      CHECK(links.sent(i) == doctest::Approx(to_send[i]).epsilon(tolerance));
      CHECK(links.received(i) == doctest::Approx(to_receive[i]).epsilon(tolerance));
      busiest = std::max({busiest, to_send[i] / rates[i].up, to_receive[i] / rates[i].down});
    }
    CHECK(last >= busiest * (1 - tolerance));
  }
}
