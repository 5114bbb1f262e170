// Statement: a prepared SQLite statement, bound left to right and stepped. Errors carry SQLite's
// own words. Used on the heavy worker only.
#pragma once

#include "grapevine/base/bytes.hpp"
#include "grapevine/runtime/storage.hpp"

#include <optional>
#include <string>

struct sqlite3_stmt;

namespace grapevine {

class Statement {
 public:
  static Result<Statement> prepare(Database& database, std::string_view sql);
  ~Statement();
  // What was bound stays bound, so the next one is the next one.
  Statement(Statement&& other) noexcept : statement_(other.statement_), next_(other.next_) {
    other.statement_ = nullptr;
  }
  Statement& operator=(Statement&&) = delete;

  Statement& bind(std::int64_t value);
  Statement& bind(double value);
  Statement& bind(ByteView value);
  Statement& bind(std::string_view value);
  Statement& bind_null();
  // True: a row is there. False: done.
  Result<bool> step();

  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] double real(int column) const;
  [[nodiscard]] Bytes blob(int column) const;
  [[nodiscard]] std::string text(int column) const;
  [[nodiscard]] bool is_null(int column) const;

 private:
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}
  sqlite3_stmt* statement_;
  int next_ = 1;
};

Result<> execute(Database& database, std::string_view sql);

// Opens a database; a damaged one, or one with other tables than the schema's, is set aside under
// another name, which `set_aside` then tells.
struct OpenedDatabase {
  std::unique_ptr<Database> database;
  std::string set_aside;
};
Result<OpenedDatabase> open_or_set_aside(Storage& storage, std::string const& path,
                                         std::string_view schema);

}  // namespace grapevine
