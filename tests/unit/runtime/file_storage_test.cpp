#include "grapevine/runtime/file_storage.hpp"

#include "unit/scratch_folder.hpp"

#include <doctest/doctest.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

using namespace grapevine;

namespace {

struct HomeFixture {
  test::ScratchFolder scratch;
  std::string const& parent = scratch.path;
  std::string home = parent + "/a/home";
  std::unique_ptr<FileStorage> storage = FileStorage::open(home).value();

  [[nodiscard]] unsigned mode(std::string const& path) const {
    struct stat about{};
    REQUIRE(::stat((home + "/" + path).c_str(), &about) == 0);
    return about.st_mode & 0777;
  }
  void exec(Database& database, char const* sql) const {
    REQUIRE(::sqlite3_exec(database.handle(), sql, nullptr, nullptr, nullptr) == SQLITE_OK);
  }
};

}  // namespace

TEST_CASE_FIXTURE(HomeFixture, "files are written whole, replaced, renamed and removed") {
  CHECK(storage->read("state/seen", 1).error().errc() == Errc::not_found);
  Bytes const big(3'000'000, 7);
  CHECK(storage->write_atomic("state/seen", as_bytes("one"), false).has_value());
  CHECK(storage->write_atomic("state/seen", big, false).has_value());
  CHECK(storage->read("state/seen", big.size()).value() == big);
  CHECK(storage->rename("state/seen", "old/seen").has_value());
  CHECK_FALSE(storage->exists("state/seen"));
  CHECK(storage->exists("old/seen"));
  CHECK(storage->rename("state/seen", "x").error().errc() == Errc::not_found);
  CHECK(storage->remove("old").has_value());
  CHECK(storage->remove("old").has_value());  // absent is fine
  CHECK_FALSE(storage->exists("old/seen"));
}

TEST_CASE_FIXTURE(HomeFixture, "a secret is for its owner alone, also over a file that was open") {
  CHECK(storage->write_atomic("open", as_bytes("x"), false).has_value());
  CHECK(mode("open") == 0644);
  CHECK(storage->write_atomic("identity.key", as_bytes("x"), true).has_value());
  CHECK(mode("identity.key") == 0600);
  CHECK(storage->write_atomic("open", as_bytes("x"), true).has_value());
  CHECK(mode("open") == 0600);
}

TEST_CASE_FIXTURE(HomeFixture, "a folder appears and is replaced as one") {
  std::vector<Storage::File> const first{{"a", as_bytes("1")}, {"b", as_bytes("2")}};
  std::vector<Storage::File> const second{{"a", as_bytes("3")}};
  CHECK(storage->write_folder("checkpoints/7", first).has_value());
  CHECK(storage->list("checkpoints/7").value() == std::vector<std::string>{"a", "b"});
  CHECK(storage->write_folder("checkpoints/7", second).has_value());
  CHECK(storage->list("checkpoints/7").value() == std::vector<std::string>{"a"});
  CHECK(storage->read("checkpoints/7/a", 1).value() == Bytes{'3'});
  CHECK(storage->list("checkpoints").value() == std::vector<std::string>{"7"});
  CHECK(storage->list("nowhere").error().errc() == Errc::not_found);
}

TEST_CASE_FIXTURE(HomeFixture, "what a crash left half written is neither listed nor in the way") {
  std::filesystem::create_directories(home + "/checkpoints/8.partial/deep");
  CHECK(storage->list("checkpoints").value().empty());
  std::vector<Storage::File> const files{{"a", as_bytes("1")}};
  CHECK(storage->write_folder("checkpoints/8", files).has_value());
  CHECK(storage->list("checkpoints/8").value() == std::vector<std::string>{"a"});
}

TEST_CASE_FIXTURE(HomeFixture, "a failed write leaves the old content and no litter") {
  std::vector<Storage::File> const folder{{"a", as_bytes("1")}};
  CHECK(storage->write_folder("thing", folder).has_value());
  // A file cannot replace a folder: the rename, the last step, fails.
  CHECK_FALSE(storage->write_atomic("thing", as_bytes("x"), false).has_value());
  CHECK(storage->read("thing/a", 1).value() == Bytes{'1'});
  CHECK_FALSE(std::filesystem::exists(home + "/thing.partial"));
}

TEST_CASE_FIXTURE(HomeFixture, "what is no file is refused, and nobody waits for a pipe") {
  REQUIRE(::mkfifo((home + "/pipe").c_str(), 0600) == 0);
  CHECK(storage->read("pipe", 1).error().errc() == Errc::io_failed);
  REQUIRE(::mkdir((home + "/folder").c_str(), 0700) == 0);
  CHECK(storage->read("folder", 1).error().errc() == Errc::io_failed);
}

TEST_CASE_FIXTURE(HomeFixture, "a file above its limit is refused before memory is taken for it") {
  CHECK(storage->write_atomic("seen", Bytes(10), false).has_value());
  CHECK(storage->read("seen", 10).value().size() == 10);
  auto const over = storage->read("seen", 9);
  CHECK(over.error().errc() == Errc::oversize);
  CHECK(over.error().detail() == home + "/seen: 10 bytes, at most 9");
  CHECK(storage->read("seen", 0).error().errc() == Errc::oversize);
  // More than any machine has: a hole on the disk, were it read it would end the program.
  std::filesystem::resize_file(home + "/seen", std::uintmax_t{1} << 42);
  CHECK(storage->read("seen", 1 << 20).error().errc() == Errc::oversize);
}

TEST_CASE_FIXTURE(HomeFixture, "a file is no home") {
  CHECK(storage->write_atomic("seen", as_bytes("x"), false).has_value());
  CHECK(FileStorage::open(home + "/seen").error().errc() == Errc::not_a_home);
}

TEST_CASE_FIXTURE(HomeFixture, "a home has one owner, named to whoever comes second") {
  auto const second = FileStorage::open(home);
  REQUIRE_FALSE(second.has_value());
  CHECK(second.error().errc() == Errc::home_in_use);
  CHECK(second.error().detail() == home + " is held by process " + std::to_string(::getpid()));
  storage.reset();
  CHECK(FileStorage::open(home).has_value());
}

TEST_CASE_FIXTURE(HomeFixture, "a home that cannot be is refused by name") {
  CHECK(storage->write_atomic("file", as_bytes("x"), false).has_value());
  auto const inside_file = FileStorage::open(home + "/file/home");
  REQUIRE_FALSE(inside_file.has_value());
  CHECK(inside_file.error().detail().starts_with(home + "/file/home"));
}

TEST_CASE_FIXTURE(HomeFixture, "a database keeps its rows and uses a write-ahead log") {
  {
    auto const database = storage->open_database("db/peers.db").value();
    exec(*database, "CREATE TABLE t(x); INSERT INTO t VALUES(5)");
    CHECK(std::filesystem::exists(home + "/db/peers.db-wal"));
  }
  auto const again = storage->open_database("db/peers.db").value();
  sqlite3_stmt* statement = nullptr;
  REQUIRE(::sqlite3_prepare_v2(again->handle(), "SELECT x FROM t", -1, &statement, nullptr) == 0);
  CHECK(::sqlite3_step(statement) == SQLITE_ROW);
  CHECK(::sqlite3_column_int(statement, 0) == 5);
  ::sqlite3_finalize(statement);
}

TEST_CASE_FIXTURE(HomeFixture, "a damaged database is told from a good one") {
  Bytes const noise(8192, 0x5a);
  CHECK(storage->write_atomic("bad.db", noise, false).has_value());
  auto const not_one = storage->open_database("bad.db");
  REQUIRE_FALSE(not_one.has_value());
  CHECK(not_one.error().errc() == Errc::database_corrupt);
  CHECK(not_one.error().detail().starts_with(home + "/bad.db"));
  {
    auto const database = storage->open_database("torn.db").value();
    exec(*database, "CREATE TABLE t(x); INSERT INTO t VALUES(randomblob(60000))");
  }
  auto torn = storage->read("torn.db", 1 << 20).value();
  for (std::size_t i = 4096; i < 8192; ++i) torn[i] ^= 0xff;
  CHECK(storage->write_atomic("torn.db", torn, false).has_value());
  auto const opened = storage->open_database("torn.db");
  REQUIRE_FALSE(opened.has_value());
  CHECK(opened.error().errc() == Errc::database_corrupt);
}

TEST_CASE_FIXTURE(HomeFixture, "there is room, and things have names") {
  CHECK(storage->free_bytes().value() > 0);
  CHECK(storage->describe("a/b") == home + "/a/b");
}
