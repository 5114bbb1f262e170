#include <sqlite3.h>

#include "grapevine/base/assert.hpp"
#include "grapevine/runtime/sqlite_database.hpp"
#include "node/sqlite_detail.hpp"

namespace grapevine {
namespace {

tl::unexpected<Error> failure(sqlite3* handle, int code) {
  std::string const text = sqlite3_errmsg(handle);
  if (code == SQLITE_FULL) return fail(Errc::disk_full, text);
  if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB) return fail(Errc::database_corrupt, text);
  return fail(Errc::io_failed, "SQLite: " + text);
}

// Every column of every table, with its type and rules: how the tables were written down, and with
// which indices, does not matter.
Result<std::vector<std::string>> columns_of(Database& database) {
  TRY_ASSIGN(
      auto rows,
      Statement::prepare(database,
                         "select tables.name || '.' || columns.name || ' ' || columns.type || ' ' "
                         "|| columns.\"notnull\" || ' ' || columns.pk from sqlite_master tables "
                         "join pragma_table_info(tables.name) columns where "
                         "tables.type = 'table' and tables.name not like 'sqlite\\_%' escape "
                         "'\\' order by tables.name, columns.cid"));
  std::vector<std::string> columns;
  while (true) {
    TRY_ASSIGN(bool const more, rows.step());
    if (!more) return columns;
    columns.push_back(rows.text(0));
  }
}

// A file whose tables somebody has changed is as damaged as one with changed bytes.
Result<> check_tables(Database& database, std::string_view schema) {
  TRY_ASSIGN(auto const intended, open_sqlite(":memory:", nullptr));
  TRY(execute(*intended, schema));
  TRY_ASSIGN(auto const expected, columns_of(*intended));
  TRY_ASSIGN(auto const found, columns_of(database));
  if (found != expected)
    return fail(Errc::database_corrupt, "has other tables than it was made with");
  return {};
}

}  // namespace

Result<Statement> Statement::prepare(Database& database, std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  int const code = sqlite3_prepare_v2(database.handle(), sql.data(), static_cast<int>(sql.size()),
                                      &statement, nullptr);
  if (code != SQLITE_OK) return failure(database.handle(), code);
  return Statement(statement);
}

Statement::~Statement() { sqlite3_finalize(statement_); }

Statement& Statement::bind(std::int64_t value) {
  ASSERT(sqlite3_bind_int64(statement_, next_++, value) == SQLITE_OK);
  return *this;
}
Statement& Statement::bind(double value) {
  ASSERT(sqlite3_bind_double(statement_, next_++, value) == SQLITE_OK);
  return *this;
}
Statement& Statement::bind(ByteView value) {
  static constexpr std::uint8_t nothing = 0;  // a null pointer would make an empty blob a NULL
  auto const* const data = value.empty() ? &nothing : value.data();
  ASSERT(sqlite3_bind_blob64(statement_, next_++, data, value.size(), SQLITE_TRANSIENT) ==
         SQLITE_OK);
  return *this;
}
Statement& Statement::bind(std::string_view value) {
  ASSERT(sqlite3_bind_text64(statement_, next_++, value.data(), value.size(), SQLITE_TRANSIENT,
                             SQLITE_UTF8) == SQLITE_OK);
  return *this;
}
Statement& Statement::bind_null() {
  ASSERT(sqlite3_bind_null(statement_, next_++) == SQLITE_OK);
  return *this;
}

Result<bool> Statement::step() {
  int const code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return failure(sqlite3_db_handle(statement_), code);
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_, column);
}
double Statement::real(int column) const { return sqlite3_column_double(statement_, column); }
Bytes Statement::blob(int column) const {
  auto const* const data =
      static_cast<std::uint8_t const*>(sqlite3_column_blob(statement_, column));
  return {data, data + sqlite3_column_bytes(statement_, column)};
}
std::string Statement::text(int column) const {
  auto const bytes = blob(column);
  return std::string(as_text(bytes));
}
bool Statement::is_null(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

Result<> execute(Database& database, std::string_view sql) {
  std::string const text(sql);
  int const code = sqlite3_exec(database.handle(), text.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return failure(database.handle(), code);
  return {};
}

Result<OpenedDatabase> open_or_set_aside(Storage& storage, std::string const& path,
                                         std::string_view schema) {
  OpenedDatabase opened;
  auto open = [&]() -> Result<> {
    TRY_ASSIGN(opened.database, storage.open_database(path));
    auto const made = execute(*opened.database, schema);
    // An index on a column that is gone cannot be made either.
    if (!made && made.error().errc() != Errc::io_failed) return made;
    TRY(check_tables(*opened.database, schema));
    return made;
  };
  auto result = open();
  if (!result && result.error().errc() == Errc::database_corrupt) {
    opened.database.reset();
    std::string aside = path + ".damaged";
    for (int n = 1; storage.exists(aside); ++n) aside = path + ".damaged-" + std::to_string(n);
    TRY(storage.rename(path, aside));
    TRY(storage.remove(path + "-wal"));
    TRY(storage.remove(path + "-shm"));
    opened.set_aside = aside;
    result = open();
  }
  TRY(std::move(result));
  return opened;
}

}  // namespace grapevine
