// Caps on what a peer sends and receives, in virtual time.
#include "grapevine/base/limits.hpp"
#include "swarm_world.hpp"

using namespace grapevine;
using namespace grapevine::testing;
using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t chunk = limits::blob_chunk_bytes;
constexpr std::uint64_t rate = 500'000;

Blob blob_of(std::size_t size, std::uint64_t seed = 1) {
  Bytes bytes(size);
  SeededRandom random(seed);
  random.fill(bytes);
  return std::make_shared<Bytes const>(std::move(bytes));
}

BlobExchange::Options up(std::uint64_t bytes_per_s) {
  BlobExchange::Options options;
  options.up_bytes_per_s = bytes_per_s;
  return options;
}

BlobExchange::Options down(std::uint64_t bytes_per_s) {
  BlobExchange::Options options;
  options.down_bytes_per_s = bytes_per_s;
  return options;
}

struct Swarm : SwarmWorld {
  Swarm(std::size_t count, std::map<std::size_t, BlobExchange::Options> options)
      : SwarmWorld(count, 1, std::move(options)) {
    connect_all();
    world.run_for(1s);  // the side that was dialled learns of it a little later
  }
  BlobRef keep(std::size_t i, Blob const& blob) { return run(i, node(i).blobs.keep(blob)).value(); }
  Awaitable<Result<BlobExchange::Fetched>> fetching(std::size_t i, BlobRef ref,
                                                    std::vector<PeerId> holders) {
    return node(i).blobs.fetch(ref, std::move(holders), world.now() + 10min);
  }
};

Awaitable<> note_end(Awaitable<Result<BlobExchange::Fetched>> fetching, sim::World& world,
                     std::vector<Instant>& ends) {
  auto const fetched = co_await std::move(fetching);
  CHECK(fetched.has_value());
  ends.push_back(world.now());
}

double seconds_for(std::uint64_t bytes) {
  return static_cast<double>(bytes) / static_cast<double>(rate);
}

}  // namespace

TEST_CASE("what a peer serves goes out at its cap, and not much slower") {
  Swarm swarm(2, {{1, up(rate)}});
  auto const blob = blob_of(20 * chunk);
  auto const ref = swarm.keep(1, blob);
  Instant const begin = swarm.world.now();
  auto const fetched = swarm.run(0, swarm.fetching(0, ref, {swarm.id(1)}));
  REQUIRE(fetched.has_value());
  CHECK(*fetched->blob == *blob);
  double const took = to_seconds(swarm.world.now() - begin);
  CHECK(took >= seconds_for(blob->size()) - 0.1);  // the last piece goes at once
  CHECK(took <= 1.2 * seconds_for(blob->size()) + 1);
}

TEST_CASE("what a peer pulls from several holders together comes at its cap") {
  Swarm swarm(4, {{0, down(rate)}});
  auto const blob = blob_of(20 * chunk);
  BlobRef ref;
  std::vector<PeerId> holders;
  for (std::size_t i = 1; i < 4; ++i) {
    ref = swarm.keep(i, blob);
    holders.push_back(swarm.id(i));
  }
  Instant const begin = swarm.world.now();
  auto const fetched = swarm.run(0, swarm.fetching(0, ref, holders));
  REQUIRE(fetched.has_value());
  CHECK(*fetched->blob == *blob);
  double const took = to_seconds(swarm.world.now() - begin);
  // The last request comes as fast as the link is; a request is for what passes in two seconds.
  CHECK(took >= seconds_for(blob->size()) - to_seconds(limits::blob_request_aim) - 0.1);
  CHECK(took <= 1.2 * seconds_for(blob->size()) + 1);
  CHECK(swarm.node(0).blobs.counters().fetch_bytes_per_s <= static_cast<double>(rate));
}

TEST_CASE("several who pull from a capped peer share it, and none is put off for good") {
  Swarm swarm(4, {{0, up(rate)}});
  auto const blob = blob_of(8 * chunk);
  auto const ref = swarm.keep(0, blob);
  Instant const begin = swarm.world.now();
  std::vector<Instant> ends;
  for (std::size_t i = 1; i < 4; ++i)
    swarm.world.spawn(i, note_end(swarm.fetching(i, ref, {swarm.id(0)}), swarm.world, ends));
  REQUIRE(swarm.world.run_for(10min, [&] { return ends.size() == 3; }));
  double const all = to_seconds(ends.back() - begin);
  CHECK(all >= seconds_for(3 * blob->size()) - 0.1);
  CHECK(all <= 1.5 * seconds_for(3 * blob->size()) + 2);
  // Nobody had the cap alone while the others waited.
  CHECK(to_seconds(ends.front() - begin) >= 1.5 * seconds_for(blob->size()));
  for (std::size_t i = 1; i < 4; ++i) CHECK(swarm.node(i).blobs.counters().fetches_failed == 0);
}

TEST_CASE("the lowest cap still lets a chunk pass in its time") {
  Swarm swarm(2, {{0, down(BlobExchange::rate_cap_min)}, {1, up(BlobExchange::rate_cap_min)}});
  auto const blob = blob_of(3 * chunk);
  auto const ref = swarm.keep(1, blob);
  auto const fetched = swarm.run(0, swarm.fetching(0, ref, {swarm.id(1)}));
  REQUIRE(fetched.has_value());
  CHECK(*fetched->blob == *blob);
}

TEST_CASE("before anything is measured a cap is what is known of the rate") {
  Swarm swarm(3, {{0, up(rate)}, {1, down(2 * rate)}});
  CHECK(swarm.node(0).blobs.counters().fetch_bytes_per_s == rate);
  CHECK(swarm.node(1).blobs.counters().fetch_bytes_per_s == 2 * rate);
  CHECK(swarm.node(2).blobs.counters().fetch_bytes_per_s == 0);
}

TEST_CASE("who does not serve has nothing, until it serves again") {
  Swarm swarm(2, {});
  auto const ref = swarm.keep(1, blob_of(chunk + 1));
  swarm.node(1).blobs.serve(false);
  auto const refused = swarm.run(0, swarm.fetching(0, ref, {swarm.id(1)}));
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().errc() == Errc::no_holder);
  swarm.node(1).blobs.serve(true);
  CHECK(swarm.run(0, swarm.fetching(0, ref, {swarm.id(1)})).has_value());
}

TEST_CASE("pings and gossip pass at once while a blob goes out and comes in at 20 kB/s") {
  constexpr std::uint64_t narrow = 20'000;
  Swarm swarm(2, {{0, down(narrow)}, {1, up(narrow)}});
  std::string const topic = "t";
  std::size_t heard = 0;
  swarm.node(0).gossip.subscribe(topic, {}, [&heard](GossipMessage const&) { ++heard; });
  swarm.node(1).gossip.subscribe(topic, {}, [](GossipMessage const&) {});
  swarm.world.run_for(5s);  // the mesh
  auto const ref = swarm.keep(1, blob_of(3 * chunk));
  std::vector<Instant> ends;
  swarm.world.spawn(0, note_end(swarm.fetching(0, ref, {swarm.id(1)}), swarm.world, ends));
  std::size_t said = 0;
  while (ends.empty()) {
    REQUIRE(swarm.node(1).gossip.publish(topic, Bytes{1}).has_value());
    ++said;
    CHECK(swarm.world.run_for(500ms, [&] { return heard == said; }));
    auto const rtt_ms = swarm.run(0, swarm.node(0).host.ping(swarm.id(1), 1));
    REQUIRE(rtt_ms.has_value());
    CHECK(rtt_ms->front() < 500);
    swarm.world.run_for(1s);
    REQUIRE(said < 100);
  }
  CHECK(said > 10);  // it took long enough to see
}
