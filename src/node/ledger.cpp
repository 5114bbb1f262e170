#include "grapevine/node/ledger.hpp"

#include "grapevine/base/assert.hpp"
#include "node/sqlite_detail.hpp"

namespace grapevine {
namespace {

constexpr std::string_view schema = R"sql(
create table if not exists entries (
  number integer primary key,
  round  integer not null,
  entry  blob not null
);
create table if not exists rounds (
  number integer primary key,
  round integer not null, at_unix_s real not null, duration_s real not null,
  compute_s real not null, loss real not null, eval_loss real,
  participants integer not null, missing integer not null, shards_missed integer not null,
  bytes_in integer not null, bytes_out integer not null
);
create table if not exists consensus (
  number integer primary key,
  l2 real,
  js real
);
create index if not exists rounds_by_round on rounds (round);
)sql";

// In the column of a round that was only watched: no training ends there.
constexpr double no_loss = 0;

RoundRecord read_record(Statement const& row) {
  RoundRecord record;
  record.entry = static_cast<std::uint64_t>(row.integer(0));
  record.round = static_cast<std::uint64_t>(row.integer(1));
  record.at_unix_s = row.real(2);
  record.duration_s = row.real(3);
  record.compute_s = row.real(4);
  if (row.real(5) != no_loss) record.loss = static_cast<float>(row.real(5));
  if (!row.is_null(6)) record.eval_loss = static_cast<float>(row.real(6));
  record.participants = static_cast<std::uint32_t>(row.integer(7));
  record.missing = static_cast<std::uint32_t>(row.integer(8));
  record.shards_missed = static_cast<std::uint32_t>(row.integer(9));
  record.bytes_in = static_cast<std::uint64_t>(row.integer(10));
  record.bytes_out = static_cast<std::uint64_t>(row.integer(11));
  if (!row.is_null(12)) record.consensus.l2 = row.real(12);
  if (!row.is_null(13)) record.consensus.js = row.real(13);
  return record;
}

void bind_optional(Statement& statement, std::optional<double> value) {
  if (value)
    statement.bind(*value);
  else
    statement.bind_null();
}

Result<> insert(Database& database, std::int64_t number, std::uint64_t round, ByteView entry) {
  TRY_ASSIGN(auto entries, Statement::prepare(database, "insert into entries values (?,?,?)"));
  TRY(entries.bind(number).bind(static_cast<std::int64_t>(round)).bind(entry).step());
  return {};
}

Result<> insert(Database& database, std::int64_t number, std::uint64_t round,
                RoundRecord const& record) {
  TRY_ASSIGN(auto rounds,
             Statement::prepare(database, "insert into rounds values (?,?,?,?,?,?,?,?,?,?,?,?)"));
  rounds.bind(number).bind(static_cast<std::int64_t>(round)).bind(record.at_unix_s);
  rounds.bind(record.duration_s)
      .bind(record.compute_s)
      .bind(record.loss ? double{*record.loss} : no_loss);
  bind_optional(rounds, record.eval_loss);
  rounds.bind(std::int64_t{record.participants}).bind(std::int64_t{record.missing});
  rounds.bind(std::int64_t{record.shards_missed});
  rounds.bind(static_cast<std::int64_t>(record.bytes_in));
  rounds.bind(static_cast<std::int64_t>(record.bytes_out));
  TRY(rounds.step());
  // A table of its own: those of the rounds were made before there was such a figure.
  TRY_ASSIGN(auto consensus, Statement::prepare(database, "insert into consensus values (?,?,?)"));
  consensus.bind(number);
  bind_optional(consensus, record.consensus.l2);
  bind_optional(consensus, record.consensus.js);
  TRY(consensus.step());
  return {};
}

}  // namespace

Result<std::unique_ptr<Ledger>> Ledger::open(Storage& storage) {
  TRY_ASSIGN(auto opened, open_or_set_aside(storage, "ledger.db", schema));
  auto ledger = std::make_unique<Ledger>();
  ledger->database_ = std::move(opened.database);
  ledger->set_aside_ = std::move(opened.set_aside);
  TRY_ASSIGN(auto newest, Statement::prepare(*ledger->database_,
                                             "select number, entry from entries "
                                             "order by number desc limit 1"));
  TRY_ASSIGN(bool const any, newest.step());
  if (any) ledger->head_ = {static_cast<std::uint64_t>(newest.integer(0)), sha256(newest.blob(1))};
  return ledger;
}

Result<> Ledger::append(std::uint64_t round, std::vector<Bytes> const& signed_entries,
                        RoundRecord const& record) {
  ASSERT(!signed_entries.empty());
  TRY(execute(*database_, "begin immediate"));
  auto number = static_cast<std::int64_t>(head_.entries);
  Result<> inserted;
  for (auto const& entry : signed_entries)
    if (inserted) inserted = insert(*database_, ++number, round, entry);
  if (inserted) inserted = insert(*database_, number, round, record);
  if (inserted) inserted = execute(*database_, "commit");
  if (!inserted) {
    (void)execute(*database_, "rollback");
    return inserted;
  }
  head_ = {static_cast<std::uint64_t>(number), sha256(signed_entries.back())};
  return {};
}

Result<std::vector<RoundRecord>> Ledger::history(std::uint64_t since, std::size_t max) {
  TRY_ASSIGN(auto rows,
             Statement::prepare(*database_,
                                "select number, round, at_unix_s, duration_s, compute_s, loss, "
                                "eval_loss, participants, missing, shards_missed, "
                                "bytes_in, bytes_out, l2, js from rounds "
                                "left join consensus using (number) where round >= ? "
                                "order by number limit ?"));
  rows.bind(static_cast<std::int64_t>(since)).bind(static_cast<std::int64_t>(max));
  std::vector<RoundRecord> records;
  while (true) {
    TRY_ASSIGN(bool const more, rows.step());
    if (!more) return records;
    records.push_back(read_record(rows));
  }
}

Result<std::vector<Bytes>> Ledger::entries(std::uint64_t first, std::size_t max) {
  TRY_ASSIGN(auto rows, Statement::prepare(*database_,
                                           "select entry from entries where number >= ? "
                                           "order by number limit ?"));
  rows.bind(static_cast<std::int64_t>(first)).bind(static_cast<std::int64_t>(max));
  std::vector<Bytes> entries;
  while (true) {
    TRY_ASSIGN(bool const more, rows.step());
    if (!more) return entries;
    entries.push_back(rows.blob(0));
  }
}

}  // namespace grapevine
