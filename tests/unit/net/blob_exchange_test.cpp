#include "grapevine/base/limits.hpp"
#include "grapevine/crypto/merkle.hpp"
#include "grapevine/wire/framing.hpp"
#include "net/blob_transfer_detail.hpp"
#include "swarm_world.hpp"

using namespace grapevine;
using namespace grapevine::testing;
using namespace std::chrono_literals;

namespace {

constexpr auto chunk = limits::blob_chunk_bytes;
constexpr auto rate = 1024 * 1024;  // bytes a second, of a slow link

Blob blob_of(std::size_t size, std::uint64_t seed = 1) {
  Bytes bytes(size);
  SeededRandom random(seed);
  random.fill(bytes);
  return std::make_shared<Bytes const>(std::move(bytes));
}

struct Swarm : SwarmWorld {
  explicit Swarm(std::size_t count) : SwarmWorld(count) {
    for (std::size_t i = 1; i < count; ++i) connect(0, i);
  }
  BlobRef keep(std::size_t i, Blob const& blob) { return run(i, node(i).blobs.keep(blob)).value(); }
  // A holder whose bytes are not what it says.
  void keep_lie(std::size_t i, BlobRef ref, Blob const& truth) {
    auto lie = *truth;
    for (std::size_t at = 0; at < lie.size(); at += chunk) lie[at] ^= 1;
    node(i).blobs.keep_as(ref, merkle_leaves(*truth, chunk),
                          std::make_shared<Bytes const>(std::move(lie)));
  }
  std::vector<PeerId> holders() {
    std::vector<PeerId> out;
    for (std::size_t i = 1; i < size(); ++i) out.push_back(id(i));
    return out;
  }
  Result<BlobExchange::Fetched> fetch(BlobRef ref, Duration patience = 5min) {
    return run(0, node(0).blobs.fetch(ref, holders(), world.now() + patience));
  }
  void slow(std::size_t i) {
    auto const link = sim::rules::rate(rate);
    world.set_links_between(0, i, {sim::rules::delay(5ms), link});
  }
};

Awaitable<> never_answer(PeerStream stream) {
  Bytes asked(limits::chunk_request_bytes_max);
  while (co_await stream.stream->read_some(asked)) continue;
}

Awaitable<> fetch_and_note(BlobExchange& blobs, BlobRef ref, std::vector<PeerId> holders,
                           Instant deadline, std::vector<Errc>& failures, std::size_t& good) {
  auto const fetched = co_await blobs.fetch(ref, std::move(holders), deadline);
  if (fetched)
    ++good;
  else
    failures.push_back(fetched.error().errc());
}

// Asks on stream after stream and reads no answer.
Awaitable<> ask_and_never_read(Host& host, PeerId holder, BlobRef ref,
                               std::vector<PeerStream>& held) {
  std::vector<std::string> const protocols(1, blob::protocol);
  Bytes message;
  append_frame(message, encode(ChunkRequest{ref, 0, 8, false}));
  while (held.size() < 2 * limits::blob_streams_per_peer_max) {
    auto opened = co_await host.open_stream(holder, protocols);
    if (!opened || !co_await opened->stream->write(message)) co_return;
    held.push_back(std::move(*opened));
  }
}

}  // namespace

TEST_CASE("blobs of every size around a chunk arrive, with or without a known size") {
  for (std::size_t const size :
       {std::size_t{0}, std::size_t{1}, chunk - 1, chunk, chunk + 1, 3 * chunk, 5 * chunk + 7}) {
    CAPTURE(size);
    Swarm swarm(2);
    auto const blob = blob_of(size);
    auto const ref = swarm.keep(1, blob);
    CHECK(ref == blob_ref(*blob));
    auto const known = swarm.fetch(ref);
    REQUIRE(known.has_value());
    CHECK(*known->blob == *blob);
    CHECK(known->report.bytes == size);
    auto const unknown = swarm.fetch({ref.root, 0});
    REQUIRE(unknown.has_value());
    CHECK(*unknown->blob == *blob);
    CHECK(swarm.node(0).blobs.counters().partial_bytes == 0);
  }
}

TEST_CASE("several holders share the work") {
  Swarm swarm(4);
  auto const blob = blob_of(40 * chunk);
  for (std::size_t i = 1; i < 4; ++i) {
    CHECK(swarm.keep(i, blob) == blob_ref(*blob));
    swarm.slow(i);
  }
  auto const fetched = swarm.fetch(blob_ref(*blob));
  REQUIRE(fetched.has_value());
  CHECK(*fetched->blob == *blob);
  CHECK(fetched->report.from.size() == 3);
  CHECK(swarm.node(0).blobs.counters().fetch_bytes_per_s > 1.5 * rate);
}

TEST_CASE("a holder that dies on the way is replaced by the others") {
  Swarm swarm(3);
  auto const blob = blob_of(30 * chunk);
  for (std::size_t i = 1; i < 3; ++i) {
    swarm.keep(i, blob);
    swarm.slow(i);
  }
  swarm.world.at(swarm.world.now() + 2s, [&] { swarm.world.crash(1); });
  auto const fetched = swarm.fetch(blob_ref(*blob));
  REQUIRE(fetched.has_value());
  CHECK(*fetched->blob == *blob);
}

TEST_CASE("a link that breaks on the way is dialled again, and loses what was in flight") {
  Swarm swarm(2);
  auto const blob = blob_of(20 * chunk);
  auto const ref = swarm.keep(1, blob);
  auto const before = swarm.node(0).host.counters().bytes_in;
  swarm.world.set_link(1, 0, {sim::rules::delay(5ms), sim::rules::cut_after(10 * chunk)});
  auto const fetched = swarm.fetch(ref);
  REQUIRE(fetched.has_value());
  CHECK(*fetched->blob == *blob);
  CHECK(fetched->report.bytes == blob->size());
  CHECK(swarm.node(0).host.counters().bytes_in - before < blob->size() + 2 * chunk);
}

TEST_CASE("a link that breaks again and again is given up") {
  Swarm swarm(2);
  auto const ref = swarm.keep(1, blob_of(20 * chunk));
  swarm.world.set_link(1, 0, {sim::rules::delay(5ms), sim::rules::break_packets(1)});
  auto const begun = swarm.world.now();
  auto const failed = swarm.fetch(ref);
  REQUIRE_FALSE(failed.has_value());
  CHECK(failed.error().errc() == Errc::no_holder);
  CHECK(swarm.world.now() - begun < 1min);
}

TEST_CASE("a holder that stalls is left out") {
  Swarm swarm(3);
  auto const blob = blob_of(30 * chunk);
  for (std::size_t i = 1; i < 3; ++i) {
    swarm.keep(i, blob);
    swarm.slow(i);
  }
  swarm.world.at(swarm.world.now() + 2s,
                 [&] { swarm.world.set_links_between(0, 1, {sim::rules::hold()}); });
  auto const fetched = swarm.fetch(blob_ref(*blob));
  REQUIRE(fetched.has_value());
  CHECK(*fetched->blob == *blob);
}

TEST_CASE("a holder that has stalled is not waited for again, unless it is the only one") {
  Swarm swarm(3);
  swarm.node(1).host.handle("/grapevine/1/blob", never_answer);
  auto const fetch_takes = [&](BlobRef const& ref, std::vector<PeerId> holders) {
    auto const begun = swarm.world.now();
    auto const until = begun + 5min;
    (void)swarm.run(0, swarm.node(0).blobs.fetch(ref, std::move(holders), until));
    return swarm.world.now() - begun;
  };
  auto const first = swarm.keep(2, blob_of(4 * chunk, 1));
  auto const second = swarm.keep(2, blob_of(4 * chunk, 2));
  CHECK(fetch_takes(first, swarm.holders()) >= limits::blob_stall_max);
  CHECK(fetch_takes(second, swarm.holders()) < limits::blob_stall_max);
  CHECK(swarm.node(0).blobs.counters().fetches_failed == 0);
  CHECK(fetch_takes(blob_ref(*blob_of(chunk, 3)), {swarm.id(1)}) >= limits::blob_stall_max);
}

TEST_CASE("a liar is found out, counted and left out") {
  Swarm swarm(3);
  auto const blob = blob_of(20 * chunk);
  auto const ref = swarm.keep(1, blob);
  swarm.keep_lie(2, ref, blob);
  auto const fetched = swarm.fetch(ref);
  REQUIRE(fetched.has_value());
  CHECK(*fetched->blob == *blob);
  CHECK_FALSE(fetched->report.from.contains(swarm.id(2)));
  CHECK(swarm.node(0).blobs.counters().chunks_bad <= 1);
  Swarm alone(2);
  alone.keep_lie(1, ref, blob);
  auto const failed = alone.fetch(ref);
  REQUIRE_FALSE(failed.has_value());
  CHECK(failed.error().errc() == Errc::no_holder);
  CHECK(alone.node(0).blobs.counters().chunks_bad == 1);
  CHECK(alone.node(0).blobs.counters().fetches_failed == 1);
}

TEST_CASE("a fetch that ran out of time is resumed") {
  Swarm swarm(2);
  auto const blob = blob_of(20 * chunk);
  auto const ref = swarm.keep(1, blob);
  swarm.slow(1);
  auto const late = swarm.fetch(ref, 3s);
  REQUIRE_FALSE(late.has_value());
  CHECK(late.error().errc() == Errc::timed_out);
  swarm.world.run_for(1s);
  CHECK(swarm.node(0).blobs.counters().partial_bytes == blob->size());
  auto const resumed = swarm.fetch(ref);
  REQUIRE(resumed.has_value());
  CHECK(*resumed->blob == *blob);
  CHECK(resumed->report.resumed > 0);
  CHECK(resumed->report.resumed + resumed->report.bytes == blob->size());
  CHECK(swarm.node(0).blobs.counters().partial_bytes == 0);
}

TEST_CASE("nobody has it, nobody is asked, it is here already") {
  Swarm swarm(3);
  auto const blob = blob_of(3 * chunk);
  auto const missing = swarm.fetch(blob_ref(*blob));
  CHECK(missing.error().errc() == Errc::no_holder);
  auto const nobody =
      swarm.run(0, swarm.node(0).blobs.fetch(blob_ref(*blob), {}, swarm.world.now() + 10s));
  CHECK(nobody.error().errc() == Errc::no_holder);
  auto const huge = swarm.fetch({blob_ref(*blob).root, limits::blob_bytes_max});
  CHECK(huge.error().errc() == Errc::limit_exceeded);
  swarm.keep(0, blob);
  CHECK(swarm.fetch(blob_ref(*blob))->blob == blob);
}

TEST_CASE("kept twice is released twice") {
  Swarm swarm(2);
  auto const blob = blob_of(10);
  auto const ref = swarm.keep(1, blob);
  swarm.keep(1, blob);
  CHECK(swarm.node(1).blobs.counters().kept_bytes == 10);
  swarm.node(1).blobs.release(ref);
  CHECK(swarm.node(1).blobs.find(ref) == blob);
  CHECK(swarm.fetch(ref).has_value());
  swarm.node(1).blobs.release(ref);
  CHECK(swarm.node(1).blobs.find(ref) == nullptr);
  CHECK(swarm.node(1).blobs.counters().kept_bytes == 0);
  CHECK(swarm.fetch(ref).error().errc() == Errc::no_holder);
}

TEST_CASE("fetches of one blob share one transfer, each with its own deadline") {
  Swarm swarm(2);
  auto const blob = blob_of(12 * chunk);
  auto const ref = swarm.keep(1, blob);
  swarm.slow(1);
  std::vector<Errc> failures;
  std::size_t good = 0;
  auto& blobs = swarm.node(0).blobs;
  for (Duration const patience : {Duration(1s), Duration(5min), Duration(5min)})
    swarm.world.spawn(0, fetch_and_note(blobs, ref, swarm.holders(), swarm.world.now() + patience,
                                        failures, good));
  CHECK(swarm.world.run_for(1min, [&] { return good == 2; }));
  CHECK(failures == std::vector{Errc::timed_out});
  CHECK(blobs.counters().bytes_fetched == blob->size());
}

TEST_CASE("a fetch that runs out of time tells the rate too") {
  Swarm swarm(2);
  auto const ref = swarm.keep(1, blob_of(40 * chunk));
  swarm.slow(1);
  std::vector<Errc> failures;
  std::size_t good = 0;
  auto& blobs = swarm.node(0).blobs;
  swarm.world.spawn(
      0, fetch_and_note(blobs, ref, swarm.holders(), swarm.world.now() + 5s, failures, good));
  auto const known = [&] { return blobs.counters().fetch_bytes_per_s > 0; };
  CHECK(swarm.world.run_for(1min, known));
  CHECK(failures == std::vector{Errc::timed_out});
}

TEST_CASE("a holder that is busy is asked again") {
  Swarm swarm(2);
  swarm.slow(1);
  std::vector<BlobRef> refs;
  for (std::uint64_t i = 0; i < limits::blob_streams_served_per_peer_max + 6; ++i)
    refs.push_back(swarm.keep(1, blob_of(chunk, i)));
  std::vector<Errc> failures;
  std::size_t good = 0;
  for (auto const& ref : refs)
    swarm.world.spawn(0, fetch_and_note(swarm.node(0).blobs, ref, swarm.holders(),
                                        swarm.world.now() + 5min, failures, good));
  CHECK(swarm.world.run_for(5min, [&] { return good + failures.size() == refs.size(); }));
  CHECK(good == refs.size());
}

TEST_CASE("a peer that asks for everything and reads nothing takes nobody else's turn") {
  Swarm swarm(3);
  auto const blob = blob_of(8 * chunk);
  auto const ref = swarm.keep(1, blob);
  swarm.connect(2, 1);
  std::vector<PeerStream> held;
  swarm.world.spawn(2, ask_and_never_read(swarm.node(2).host, swarm.id(1), ref, held));
  swarm.world.run_for(5s);
  CHECK(held.size() >= limits::blob_streams_per_peer_max);
  CHECK(swarm.node(1).blobs.counters().serving == limits::blob_streams_served_per_peer_max);
  std::vector<PeerId> const holder(1, swarm.id(1));
  auto const fetched =
      swarm.run(0, swarm.node(0).blobs.fetch(ref, holder, swarm.world.now() + 10s));
  CHECK(fetched.has_value());
  held.clear();
}
