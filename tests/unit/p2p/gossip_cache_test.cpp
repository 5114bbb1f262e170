#include "p2p/gossip_cache_detail.hpp"
#include "p2p/gossip_promises_detail.hpp"
#include "p2p/gossip_score_detail.hpp"

#include <doctest/doctest.h>

using namespace grapevine;
using namespace std::chrono_literals;

namespace {

PeerId peer(std::uint8_t n) {
  std::array<std::uint8_t, 32> key{};
  key[0] = n;
  return PeerId::from_ed25519(key);
}
GossipFrame frame(std::size_t bytes) { return std::make_shared<Bytes const>(bytes); }

}  // namespace

TEST_CASE("ids are seen for their lifetime, and at most so many") {
  SeenCache seen(120s, 3);
  Instant now{};
  for (std::uint8_t i = 0; i < 4; ++i) seen.insert({i}, now + i * 1s);
  seen.insert({3}, now + 3s);
  CHECK(seen.size() == 3);
  CHECK_FALSE(seen.contains({0}));
  CHECK(seen.contains({1}));
  seen.expire(now + 121s);
  CHECK_FALSE(seen.contains({1}));
  CHECK(seen.contains({2}));
  seen.expire(now + 123s);
  CHECK(seen.size() == 0);
}

TEST_CASE("what the seen cache forgets it tells, the oldest first") {
  SeenCache seen(120s, 2);
  std::vector<GossipId> forgotten;
  seen.on_forgotten([&](GossipId const& id) { forgotten.push_back(id); });
  Instant const now{};
  for (std::uint8_t i = 0; i < 3; ++i) seen.insert({i}, now + i * 1s);
  CHECK(forgotten == std::vector<GossipId>{{0}});
  seen.expire(now + 200s);
  CHECK(forgotten == std::vector<GossipId>{{0}, {1}, {2}});
}

TEST_CASE("a floor covers what is not above it, and never sinks") {
  SequenceFloors floors(8);
  CHECK_FALSE(floors.covers(peer(1), 0));
  floors.raise(peer(1), 0);
  CHECK(floors.covers(peer(1), 0));
  CHECK_FALSE(floors.covers(peer(1), 1));
  floors.raise(peer(1), 7);
  floors.raise(peer(1), 5);
  CHECK(floors.covers(peer(1), 7));
  CHECK_FALSE(floors.covers(peer(1), 8));
  CHECK_FALSE(floors.covers(peer(2), 7));
  floors.raise(peer(2), ~0ULL);
  CHECK(floors.covers(peer(2), ~0ULL));
}

TEST_CASE("floors are kept of so many authors; the one raised longest ago makes room") {
  SequenceFloors floors(2);
  floors.raise(peer(1), 5);
  floors.raise(peer(2), 5);
  floors.raise(peer(1), 6);
  CHECK(floors.size() == 2);
  floors.raise(peer(3), 5);
  CHECK(floors.size() == 2);
  CHECK(floors.covers(peer(1), 6));
  CHECK_FALSE(floors.covers(peer(2), 5));
  CHECK(floors.covers(peer(3), 5));
  SequenceFloors none(0);
  none.raise(peer(1), 5);
  CHECK(none.size() == 0);
}

TEST_CASE("history has windows, and at most so many bytes") {
  HistoryCache history(5, 100);
  history.put({1}, "t", frame(40));
  history.put({1}, "t", frame(40));
  CHECK(history.bytes() == 40);
  history.shift();
  history.put({2}, "t", frame(40));
  history.put({3}, "u", frame(10));
  CHECK(history.ids("t", 1) == std::vector<GossipId>{{2}});
  CHECK(history.ids("t", 2) == std::vector<GossipId>{{2}, {1}});
  history.put({4}, "t", frame(40));
  CHECK(history.size() == 3);
  CHECK(history.take({1}, peer(1), 3) == nullptr);
  for (int i = 0; i < 3; ++i) CHECK(history.take({2}, peer(1), 3) != nullptr);
  CHECK(history.take({2}, peer(1), 3) == nullptr);
  CHECK(history.take({2}, peer(2), 3) != nullptr);
  for (int i = 0; i < 4; ++i) history.shift();
  CHECK(history.size() == 3);
  history.shift();
  CHECK(history.size() == 0);
  CHECK(history.bytes() == 0);
}

TEST_CASE("promises are kept by anyone, broken when due, forgotten with their peer") {
  GossipPromises promises;
  Instant const now{};
  promises.add({1}, peer(1), now + 3s);
  promises.add({1}, peer(2), now + 4s);
  promises.add({2}, peer(1), now + 3s);
  promises.add({2}, peer(1), now + 9s);
  CHECK(promises.size() == 3);
  promises.keep({2});
  CHECK(promises.take_broken(now + 2s).empty());
  CHECK(promises.take_broken(now + 3s) == std::vector{peer(1)});
  promises.forget(peer(2));
  CHECK(promises.size() == 0);
  CHECK(promises.take_broken(now + 10s).empty());
}

TEST_CASE("good deeds are capped, bad ones are not, both fade") {
  GossipScores scores;
  Instant const now{};
  for (int i = 0; i < 10'000; ++i) scores.delivered_first(peer(1));
  scores.meshed(peer(1), "t", now);
  auto const best = scores.score(peer(1), now + 1000min);
  CHECK(best == doctest::Approx(gossip_score::mesh_max + 10));
  for (int i = 0; i < 4; ++i) scores.sent_invalid(peer(1));
  CHECK(scores.score(peer(1), now + 1000min) < gossip_score::graylist);
  for (int i = 0; i < 6; ++i) scores.misbehaved(peer(2));
  CHECK(scores.score(peer(2), now) == 0);
  scores.misbehaved(peer(2), 2);
  CHECK(scores.score(peer(2), now) == -40);
  scores.unmeshed(peer(1), "t");
  for (int i = 0; i < 1200; ++i) scores.decay();
  CHECK(scores.size() == 0);
}
