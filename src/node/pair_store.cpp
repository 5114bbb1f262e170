#include "node/pair_store_detail.hpp"

#include "grapevine/base/limits.hpp"
#include "node/sqlite_detail.hpp"

namespace grapevine {
namespace {

constexpr std::string_view schema = R"sql(
create table if not exists decisions (
  round integer not null, lane integer not null, partner blob not null,
  primary key (round, lane, partner)
) without rowid;
create table if not exists doubts (
  round integer not null, lane integer not null, partner blob not null,
  correction blob not null, sat_out integer not null default 0, applied_round integer,
  applied_state blob, primary key (round, lane, partner)
) without rowid;
)sql";

std::string path_of(PairKey const& exchange) {
  return "pair/" + std::to_string(exchange.round) + "-" + std::string(to_string(exchange.lane)) +
         "-" + exchange.partner.text();
}

Result<Statement> for_exchange(Database& database, std::string_view sql, PairKey const& exchange) {
  TRY_ASSIGN(auto statement, Statement::prepare(database, sql));
  statement.bind(static_cast<std::int64_t>(exchange.round));
  statement.bind(static_cast<std::int64_t>(exchange.lane)).bind(exchange.partner.bytes());
  return statement;
}

Result<PairKey> read_key(Statement const& row) {
  TRY_ASSIGN(auto const partner, PeerId::from_bytes(row.blob(2)));
  auto const lane = static_cast<MixLane>(row.integer(1));
  if (lane > MixLane::joint) return fail(Errc::database_corrupt, "an exchange of no known lane");
  return PairKey{static_cast<std::uint64_t>(row.integer(0)), lane, partner};
}

ByteView bytes_of(std::vector<float> const& values) {
  return {reinterpret_cast<std::uint8_t const*>(values.data()), values.size() * sizeof(float)};
}

}  // namespace

Result<std::unique_ptr<PairStore>> PairStore::open(Storage& storage) {
  TRY_ASSIGN(auto opened, open_or_set_aside(storage, "pair.db", schema));
  std::unique_ptr<PairStore> store(new PairStore(storage));
  store->database_ = std::move(opened.database);
  store->set_aside_ = std::move(opened.set_aside);
  return store;
}

Result<std::set<PairKey>> PairStore::decisions() {
  TRY_ASSIGN(auto rows, Statement::prepare(*database_,
                                           "select round, lane, partner from decisions "
                                           "order by round desc limit ?"));
  rows.bind(static_cast<std::int64_t>(limits::pair_decisions_max));
  std::set<PairKey> found;
  while (true) {
    TRY_ASSIGN(bool const more, rows.step());
    if (!more) return found;
    TRY_ASSIGN(auto const exchange, read_key(rows));
    found.insert(exchange);
  }
}

Result<> PairStore::decide(PairKey const& exchange) {
  TRY_ASSIGN(auto row,
             for_exchange(*database_, "insert or replace into decisions values (?,?,?)", exchange));
  TRY(row.step());
  TRY_ASSIGN(auto prune, Statement::prepare(*database_,
                                            "delete from decisions where round < "
                                            "(select max(round) from decisions) - ?"));
  TRY(prune.bind(static_cast<std::int64_t>(limits::pair_decisions_max)).step());
  return {};
}

Result<std::map<PairKey, PairDoubt>> PairStore::doubts() {
  TRY_ASSIGN(auto rows, Statement::prepare(
                            *database_,
                            "select round, lane, partner, sat_out, applied_round, applied_state "
                            "from doubts"));
  std::map<PairKey, PairDoubt> found;
  while (true) {
    TRY_ASSIGN(bool const more, rows.step());
    if (!more) return found;
    TRY_ASSIGN(auto const exchange, read_key(rows));
    auto& doubt = found[exchange];
    doubt.sat_out = static_cast<std::uint64_t>(rows.integer(3));
    if (rows.is_null(4)) continue;
    TRY_ASSIGN(auto const state, Hash::from_bytes(rows.blob(5)));
    doubt.applied = Version{static_cast<std::uint64_t>(rows.integer(4)), state};
  }
}

Result<> PairStore::keep_doubt(PairKey const& exchange, StateCorrection const& correction) {
  Bytes content;
  append(content, bytes_of(correction.parameters));
  append(content, bytes_of(correction.momentum));
  TRY(storage_.write_atomic(path_of(exchange), content));
  TRY_ASSIGN(auto row, for_exchange(*database_,
                                    "insert or replace into doubts (round, lane, partner, "
                                    "correction) values (?,?,?,?)",
                                    exchange));
  auto const hash = sha256(content);
  TRY(row.bind(hash.view()).step());
  return {};
}

Result<> PairStore::update_doubt(PairKey const& exchange, PairDoubt const& doubt) {
  TRY_ASSIGN(auto row, for_exchange(*database_,
                                    "update doubts set sat_out = ?4, applied_round = ?5, "
                                    "applied_state = ?6 "
                                    "where round = ?1 and lane = ?2 and partner = ?3",
                                    exchange));
  row.bind(static_cast<std::int64_t>(doubt.sat_out));
  if (doubt.applied)
    row.bind(static_cast<std::int64_t>(doubt.applied->round)).bind(doubt.applied->state.view());
  else
    row.bind_null().bind_null();
  TRY(row.step());
  return {};
}

Result<StateCorrection> PairStore::correction(PairKey const& exchange, std::uint64_t elements) {
  TRY_ASSIGN(auto row, for_exchange(*database_,
                                    "select correction from doubts "
                                    "where round = ? and lane = ? and partner = ?",
                                    exchange));
  TRY_ASSIGN(bool const known, row.step());
  auto const path = path_of(exchange);
  if (!known) return fail(Errc::not_found, path);
  TRY_ASSIGN(auto const hash, Hash::from_bytes(row.blob(0)));
  TRY_ASSIGN(auto const content, storage_.read(path, 2 * elements * sizeof(float)));
  if (sha256(content) != hash) return fail(Errc::hash_mismatch, path);
  auto const values = floats_of(content);
  auto const half = static_cast<std::ptrdiff_t>(values.size() / 2);
  return StateCorrection{{values.begin(), values.begin() + half},
                         {values.begin() + half, values.end()}};
}

Result<> PairStore::forget_doubt(PairKey const& exchange) {
  TRY_ASSIGN(
      auto row,
      for_exchange(*database_, "delete from doubts where round = ? and lane = ? and partner = ?",
                   exchange));
  TRY(row.step());
  return storage_.remove(path_of(exchange));
}

}  // namespace grapevine
