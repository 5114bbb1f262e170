#include "grapevine/runtime/sqlite_database.hpp"

#include <sqlite3.h>

namespace grapevine {
namespace {

constexpr int busy_ms_max = 5000;

class SqliteDatabase final : public Database {
 public:
  explicit SqliteDatabase(sqlite3* handle) : handle_(handle) {}
  SqliteDatabase(SqliteDatabase const&) = delete;
  ~SqliteDatabase() override { ::sqlite3_close_v2(handle_); }
  [[nodiscard]] sqlite3* handle() override { return handle_; }

 private:
  sqlite3* handle_;
};

Errc to_errc(int code) {
  switch (code & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return Errc::database_corrupt;
    case SQLITE_FULL:
      return Errc::disk_full;
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
      return Errc::not_writable;
    default:
      return Errc::io_failed;
  }
}

tl::unexpected<Error> failure(int code, sqlite3* handle, std::string const& file) {
  return fail(to_errc(code), file + ": " + ::sqlite3_errmsg(handle));
}

int take_first(void* into, int columns, char** values, char**) {
  auto& text = *static_cast<std::string*>(into);
  if (text.empty() && columns > 0 && values[0] != nullptr) text = values[0];
  return 0;
}

Result<std::string> ask(sqlite3* handle, char const* sql, std::string const& file) {
  std::string first;
  int const code = ::sqlite3_exec(handle, sql, take_first, &first, nullptr);
  if (code != SQLITE_OK) return failure(code, handle, file);
  return first;
}

}  // namespace

// synchronous=EXTRA: a commit must survive the power, because a sequence number or ledger entry
// that others have seen must not be forgotten; a peer commits a few times a minute. NORMAL does not
// promise it in WAL mode, and FULL not where a file system allows no WAL.
Result<std::unique_ptr<Database>> open_sqlite(std::string const& file, char const* vfs) {
  sqlite3* handle = nullptr;
  int const flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  int const code = ::sqlite3_open_v2(file.c_str(), &handle, flags, vfs);
  auto database = std::make_unique<SqliteDatabase>(handle);
  if (code != SQLITE_OK) return failure(code, handle, file);
  ::sqlite3_busy_timeout(handle, busy_ms_max);
  TRY(ask(handle, "PRAGMA journal_mode=WAL", file));
  TRY(ask(handle, "PRAGMA synchronous=EXTRA", file));
  TRY_ASSIGN(auto const verdict, ask(handle, "PRAGMA quick_check(1)", file));
  if (verdict != "ok") return fail(Errc::database_corrupt, file + ": " + verdict);
  return database;
}

}  // namespace grapevine
