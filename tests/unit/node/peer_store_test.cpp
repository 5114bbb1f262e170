#include "node/peer_store_detail.hpp"

#include "grapevine/base/limits.hpp"
#include "unit/node/one_disk.hpp"
#include "unit/wire/keys.hpp"

using namespace grapevine;
using grapevine::test::cut_at_every_step;
using grapevine::test::OneDisk;

namespace {

std::unique_ptr<PeerStore> open(Storage& storage) {
  auto opened = PeerStore::open(storage);
  REQUIRE(opened.has_value());
  return std::move(*opened);
}

PeerStore::Known known(PeerId const& peer, std::vector<std::string> const& addresses) {
  PeerStore::Known out{peer, {}};
  for (auto const& text : addresses) out.addresses.push_back(Multiaddr::parse(text).value());
  return out;
}

PeerId numbered(std::uint32_t n) {
  std::array<std::uint8_t, 32> key{};
  for (std::size_t i = 0; i < 4; ++i) key[i] = static_cast<std::uint8_t>(n >> (8 * i));
  return PeerId::from_ed25519(key);
}

}  // namespace

TEST_CASE("peers come back newest first, with their addresses, also after a crash") {
  OneDisk disk;
  auto const a = known(peer_a, {"/ip4/10.0.0.1/tcp/4001", "/dns4/example.com/tcp/443"});
  auto const b = known(peer_b, {});
  {
    auto const store = open(disk.storage());
    CHECK(store->recent(10).value().empty());
    CHECK(store->remember({}, 99).has_value());
    REQUIRE(store->remember({b}, 100).has_value());
    REQUIRE(store->remember({a}, 101).has_value());
  }
  disk.lose_power();
  auto const store = open(disk.storage());
  auto const found = store->recent(10).value();
  REQUIRE(found.size() == 2);
  CHECK(found[0].peer == peer_a);
  CHECK(found[0].addresses == a.addresses);
  CHECK(found[1].peer == peer_b);
  CHECK(found[1].addresses.empty());
  CHECK(store->recent(1).value().size() == 1);
  CHECK(store->recent(0).value().empty());
  REQUIRE(store->remember({b}, 102).has_value());
  CHECK(store->recent(1).value().front().peer == peer_b);
}

TEST_CASE("so many peers are kept, and those heard of longest ago make room") {
  OneDisk disk;
  auto const store = open(disk.storage());
  std::vector<PeerStore::Known> many;
  for (std::uint32_t i = 0; i < limits::address_book_peers_max; ++i)
    many.push_back({numbered(i), {}});
  REQUIRE(store->remember({known(peer_a, {})}, 1).has_value());
  many.pop_back();
  REQUIRE(store->remember(many, 2).has_value());
  auto const count = [&] { return store->recent(limits::address_book_peers_max + 10)->size(); };
  CHECK(count() == limits::address_book_peers_max);
  REQUIRE(store->remember({known(peer_b, {})}, 3).has_value());
  CHECK(count() == limits::address_book_peers_max);
  auto const left = store->recent(limits::address_book_peers_max).value();
  CHECK(left.front().peer == peer_b);
  for (auto const& peer : left) CHECK(peer.peer != peer_a);
}

TEST_CASE("sequence numbers are above all before, whatever the clock says") {
  OneDisk disk;
  std::uint64_t next_free = 0;
  for (std::uint64_t const unix_ns : {1000ULL, 5ULL, 1ULL << 60, 0ULL}) {
    auto const first = open(disk.storage())->reserve_sequence(unix_ns);
    REQUIRE(first.has_value());
    CHECK(*first >= next_free);
    CHECK(*first >= unix_ns);
    next_free = *first + (1ULL << 40);  // a block is for a whole life
    disk.lose_power();
  }
}

TEST_CASE("a block of sequence numbers is handed out once, wherever the power goes") {
  std::uint64_t handed_out = 0;
  cut_at_every_step([](Storage& storage) { REQUIRE(open(storage)->reserve_sequence(10) == 10); },
                    [&](Storage& storage) {
                      auto store = PeerStore::open(storage);
                      if (!store) return false;
                      auto const first = (*store)->reserve_sequence(10);
                      if (first) handed_out = *first;
                      return first.has_value();
                    },
                    [&](Storage& storage, bool done) {
                      auto const next = open(storage)->reserve_sequence(10).value();
                      CHECK(next > 10);
                      if (done) CHECK(next > handed_out);
                    });
}

TEST_CASE("a damaged list of peers is set aside") {
  OneDisk disk;
  REQUIRE(disk.storage().write_atomic("peers.db", Bytes(5000, 'x')).has_value());
  auto const store = open(disk.storage());
  CHECK(store->set_aside() == "peers.db.damaged");
  CHECK(store->remember({known(peer_a, {})}, 1).has_value());
}
