#include "node/peer_store_detail.hpp"

#include "grapevine/base/limits.hpp"
#include "node/sqlite_detail.hpp"

#include <algorithm>

namespace grapevine {
namespace {

constexpr std::string_view schema = R"sql(
create table if not exists peers (
  id blob primary key, addresses blob not null, seen_unix_s real not null
) without rowid;
create table if not exists sequence (only integer primary key check (only = 1), next integer not null);
)sql";

// A process would have to publish a million messages a second for two weeks to use up a block.
constexpr std::uint64_t sequence_block = 1ULL << 40;

// Addresses in one column: each as a two-byte length and its bytes.
Bytes pack(std::vector<Multiaddr> const& addresses) {
  Bytes packed;
  for (auto const& address : addresses) {
    append_be(packed, static_cast<std::uint16_t>(address.bytes().size()));
    append(packed, address.bytes());
  }
  return packed;
}

std::vector<Multiaddr> unpack(ByteView packed) {
  std::vector<Multiaddr> addresses;
  while (packed.size() >= 2) {
    std::size_t const size = read_be<std::uint16_t>(packed);
    packed = packed.subspan(2);
    if (size > packed.size()) break;
    if (auto address = Multiaddr::from_bytes(packed.first(size))) addresses.push_back(*address);
    packed = packed.subspan(size);
  }
  return addresses;
}

Result<> upsert(Database& database, std::vector<PeerStore::Known> const& peers, double now) {
  for (auto const& known : peers) {
    TRY_ASSIGN(auto row,
               Statement::prepare(database, "insert or replace into peers values (?,?,?)"));
    Bytes const packed = pack(known.addresses);
    TRY(row.bind(known.peer.bytes()).bind(ByteView(packed)).bind(now).step());
  }
  TRY_ASSIGN(auto prune,
             Statement::prepare(database,
                                "delete from peers where id not in (select id from peers "
                                "order by seen_unix_s desc limit ?)"));
  TRY(prune.bind(static_cast<std::int64_t>(limits::address_book_peers_max)).step());
  return {};
}

}  // namespace

Result<std::unique_ptr<PeerStore>> PeerStore::open(Storage& storage) {
  TRY_ASSIGN(auto opened, open_or_set_aside(storage, "peers.db", schema));
  auto store = std::make_unique<PeerStore>();
  store->database_ = std::move(opened.database);
  store->set_aside_ = std::move(opened.set_aside);
  return store;
}

Result<> PeerStore::remember(std::vector<Known> const& peers, double now_unix_s) {
  TRY(execute(*database_, "begin immediate"));
  auto result = upsert(*database_, peers, now_unix_s);
  if (result) result = execute(*database_, "commit");
  if (!result) (void)execute(*database_, "rollback");
  return result;
}

Result<std::vector<PeerStore::Known>> PeerStore::recent(std::size_t max) {
  TRY_ASSIGN(auto rows, Statement::prepare(*database_,
                                           "select id, addresses from peers "
                                           "order by seen_unix_s desc, id limit ?"));
  rows.bind(static_cast<std::int64_t>(max));
  std::vector<Known> peers;
  while (true) {
    TRY_ASSIGN(bool const more, rows.step());
    if (!more) return peers;
    auto id = PeerId::from_bytes(rows.blob(0));
    if (id) peers.push_back({*id, unpack(rows.blob(1))});
  }
}

Result<std::uint64_t> PeerStore::reserve_sequence(std::uint64_t unix_ns) {
  TRY_ASSIGN(auto row, Statement::prepare(*database_, "select next from sequence"));
  TRY_ASSIGN(bool const any, row.step());
  std::uint64_t const first =
      std::max(unix_ns, any ? static_cast<std::uint64_t>(row.integer(0)) : 0);
  TRY_ASSIGN(auto update,
             Statement::prepare(*database_, "insert or replace into sequence values (1, ?)"));
  TRY(update.bind(static_cast<std::int64_t>(first + sequence_block)).step());
  return first;
}

}  // namespace grapevine
