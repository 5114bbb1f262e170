#include "grapevine/sim/world.hpp"

#include <doctest/doctest.h>
#include <sqlite3.h>

#include <optional>
#include <set>

using namespace grapevine;
using namespace grapevine::sim;

namespace {

std::unique_ptr<Program> no_program(Doors) { return nullptr; }

struct OneNode {
  explicit OneNode(std::uint64_t seed = 1) : world({.seed = seed}) { world.add_node(no_program); }
  [[nodiscard]] Storage& storage() { return world.doors(0).storage; }
  World world;
};

using Act = Result<> (*)(Storage&);
using Look = std::string (*)(Storage&);

enum class Trouble : bool { failure, power_cut };

struct Case {
  Act prepare;
  Act act;
  Look look;
  std::string before;
  std::string after;
};

// What is left when `act` meets trouble at its k-th step: all of it or nothing, and it can be done
// again. False when it had fewer steps than k.
bool check_step(Case const& tried, std::uint64_t seed, Trouble trouble, std::uint64_t k,
                std::set<std::string>& seen) {
  CAPTURE(seed);
  CAPTURE(k);
  OneNode node(seed);
  REQUIRE(tried.prepare(node.storage()).has_value());
  auto const step = node.world.disk_steps(0) + k;
  if (trouble == Trouble::power_cut)
    node.world.cut_power_at_disk_step(0, step);
  else
    node.world.fail_disk_step(0, step, Errc::io_failed);
  bool const reported_done = tried.act(node.storage()).has_value();
  bool const reached = node.world.disk_steps(0) >= step;
  node.world.restart(0);
  auto const left = tried.look(node.storage());
  seen.insert(left);
  CHECK((left == tried.before || left == tried.after));
  if (reported_done) CHECK(left == tried.after);
  if (left == tried.before) CHECK(tried.act(node.storage()).has_value());
  CHECK(tried.look(node.storage()) == tried.after);
  return reached;
}

void check_every_step(Act prepare, Act act, Look look) {
  OneNode whole;
  Case tried{prepare, act, look, {}, {}};
  REQUIRE(prepare(whole.storage()).has_value());
  tried.before = look(whole.storage());
  REQUIRE(act(whole.storage()).has_value());
  tried.after = look(whole.storage());
  REQUIRE(tried.before != tried.after);
  whole.world.restart(0);
  CHECK(look(whole.storage()) == tried.after);  // done is durable
  for (auto const trouble : {Trouble::failure, Trouble::power_cut}) {
    std::set<std::string> seen;
    for (std::uint64_t seed = 1; seed <= 8; ++seed)
      for (std::uint64_t k = 1; check_step(tried, seed, trouble, k, seen);) ++k;
    CHECK(seen.size() == 2);  // both happened
  }
}

std::string text_of(Storage& storage, std::string const& path) {
  auto const content = storage.read(path, 1 << 20);
  return content ? std::string(as_text(*content)) : "-";
}

std::string const old_text(2000, 'a');
std::string const new_text(3000, 'b');

Result<> exec(Database& database, char const* sql) {
  if (::sqlite3_exec(database.handle(), sql, nullptr, nullptr, nullptr) == SQLITE_OK) return {};
  return fail(Errc::io_failed, ::sqlite3_errmsg(database.handle()));
}

std::string row_sum(Storage& storage) {
  auto const database = storage.open_database("db/ledger.db");
  if (!database) return "unreadable: " + database.error().message();
  sqlite3_stmt* statement = nullptr;
  if (::sqlite3_prepare_v2((*database)->handle(), "SELECT count(*), sum(x) FROM t", -1, &statement,
                           nullptr) != SQLITE_OK)
    return "no table";
  ::sqlite3_step(statement);
  auto const sum = std::to_string(::sqlite3_column_int(statement, 0)) + ":" +
                   std::to_string(::sqlite3_column_int64(statement, 1));
  ::sqlite3_finalize(statement);
  return sum;
}

}  // namespace

TEST_CASE("write_atomic leaves the old or the new, whatever step fails or loses the power") {
  Act const prepare = [](Storage& storage) {
    return storage.write_atomic("state/seen", as_bytes(old_text));
  };
  Act const act = [](Storage& storage) {
    return storage.write_atomic("state/seen", as_bytes(new_text));
  };
  check_every_step(prepare, act, [](Storage& storage) { return text_of(storage, "state/seen"); });
}

TEST_CASE("write_folder appears whole or not at all, new and over an old one") {
  Look const look = [](Storage& storage) {
    return text_of(storage, "c/7/a") + text_of(storage, "c/7/b");
  };
  Act const nothing = [](Storage&) { return Result<>(); };
  Act const first = [](Storage& storage) {
    std::vector<Storage::File> const files{{"a", as_bytes(old_text)}, {"b", as_bytes("1")}};
    return storage.write_folder("c/7", files);
  };
  Act const second = [](Storage& storage) {
    std::vector<Storage::File> const files{{"a", as_bytes(new_text)}};
    return storage.write_folder("c/7", files);
  };
  check_every_step(nothing, first, look);
  check_every_step(first, second, look);
}

TEST_CASE("remove and rename are whole") {
  Act const prepare = [](Storage& storage) {
    std::vector<Storage::File> const files{{"a", as_bytes("1")}, {"b", as_bytes("2")}};
    return storage.write_folder("c/7", files);
  };
  Act const remove = [](Storage& storage) { return storage.remove("c/7"); };
  Act const rename = [](Storage& storage) -> Result<> {
    if (storage.exists("old/7")) return {};
    return storage.rename("c/7", "old/7");
  };
  check_every_step(prepare, remove, [](Storage& storage) {
    return text_of(storage, "c/7/a") + text_of(storage, "c/7/b");
  });
  check_every_step(prepare, rename, [](Storage& storage) {
    return text_of(storage, "c/7/a") + text_of(storage, "old/7/a");
  });
}

TEST_CASE("a commit of a database is whole, and durable once it has returned") {
  Act const prepare = [](Storage& storage) -> Result<> {
    TRY_ASSIGN(auto const database, storage.open_database("db/ledger.db"));
    return exec(*database, "CREATE TABLE t(x); INSERT INTO t VALUES(1)");
  };
  Act const act = [](Storage& storage) -> Result<> {
    TRY_ASSIGN(auto const database, storage.open_database("db/ledger.db"));
    return exec(*database,
                "BEGIN; INSERT INTO t VALUES(10); INSERT INTO t SELECT x FROM t; COMMIT");
  };
  check_every_step(prepare, act, row_sum);
}

TEST_CASE_FIXTURE(OneNode, "an open transaction is lost with the power, and its handle with it") {
  auto database = storage().open_database("db/ledger.db").value();
  REQUIRE(exec(*database, "CREATE TABLE t(x); INSERT INTO t VALUES(1)").has_value());
  REQUIRE(exec(*database, "BEGIN; INSERT INTO t VALUES(2)").has_value());
  world.restart(0);
  CHECK_FALSE(exec(*database, "COMMIT").has_value());
  database.reset();
  CHECK(row_sum(storage()) == "1:1");
}

TEST_CASE_FIXTURE(OneNode, "a full disk refuses writes, keeps what is there, and recovers") {
  REQUIRE(storage().write_atomic("a", as_bytes(old_text)).has_value());
  world.set_disk_full(0, true);
  CHECK(storage().write_atomic("a", as_bytes(new_text)).error().errc() == Errc::disk_full);
  CHECK(storage().open_database("x.db").error().errc() == Errc::disk_full);
  CHECK(storage().free_bytes().value() == 0);
  CHECK(text_of(storage(), "a") == old_text);
  CHECK(storage().list(".").value() == std::vector<std::string>{"a"});
  world.set_disk_full(0, false);
  CHECK(storage().write_atomic("a", as_bytes(new_text)).has_value());
}

TEST_CASE_FIXTURE(OneNode, "damage to a database file is found") {
  Bytes const noise(8192, 0x5a);
  REQUIRE(storage().write_atomic("bad.db", noise).has_value());
  CHECK(storage().open_database("bad.db").error().errc() == Errc::database_corrupt);
}
