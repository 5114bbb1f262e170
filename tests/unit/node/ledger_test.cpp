#include "grapevine/node/ledger.hpp"

#include "node/sqlite_detail.hpp"
#include "unit/node/one_disk.hpp"
#include "unit/wire/samples.hpp"

using namespace grapevine;
using grapevine::test::cut_at_every_step;
using grapevine::test::OneDisk;

namespace {

std::unique_ptr<Ledger> open(Storage& storage) {
  auto opened = Ledger::open(storage);
  REQUIRE(opened.has_value());
  return std::move(*opened);
}

Result<> append(Ledger& ledger, std::uint64_t round) {
  auto entry = samples::ledger_entry();
  entry.round = round;
  entry.previous = ledger.head().hash;
  RoundRecord figures;
  figures.round = round;
  if (round > 0) figures.loss = static_cast<float>(round);
  if (round % 2 == 0) figures.eval_loss = 0.5F;
  if (round % 2 == 0) figures.consensus.js = 0.125;
  if (round % 2 == 1) figures.consensus.l2 = 1.5;
  figures.participants = 3;
  figures.bytes_out = 1ULL << 40;
  return ledger.append(round, {sign_ledger_entry(entry, key_a)}, figures);
}

// Every entry names the hash of the one before it; returns their rounds.
std::vector<std::uint64_t> check_chain(Ledger& ledger) {
  auto const entries = ledger.entries(1, 1000);
  REQUIRE(entries.has_value());
  Hash previous;
  std::vector<std::uint64_t> rounds;
  for (auto const& bytes : *entries) {
    auto const entry = verify_ledger_entry(bytes);
    REQUIRE(entry.has_value());
    CHECK((*entry)->previous == previous);
    previous = sha256(bytes);
    rounds.push_back((*entry)->round);
  }
  CHECK(ledger.head().entries == entries->size());
  CHECK(ledger.head().hash == previous);
  return rounds;
}

}  // namespace

TEST_CASE("an empty ledger has no head") {
  OneDisk disk;
  auto const ledger = open(disk.storage());
  CHECK(ledger->head().entries == 0);
  CHECK(ledger->head().hash.is_zero());
  CHECK(check_chain(*ledger).empty());
  CHECK(ledger->history(0, 10).value().empty());
}

TEST_CASE("entries make one chain over restarts") {
  OneDisk disk;
  for (std::uint64_t round = 3; round < 9; ++round) {
    REQUIRE(append(*open(disk.storage()), round).has_value());
    disk.lose_power();
  }
  auto const ledger = open(disk.storage());
  CHECK(check_chain(*ledger) == std::vector<std::uint64_t>{3, 4, 5, 6, 7, 8});
  CHECK(ledger->entries(3, 2).value().size() == 2);
  CHECK(ledger->entries(7, 1).value().empty());
  CHECK(ledger->entries(1, 0).value().empty());
}

TEST_CASE("the figures of the rounds read back, from a round on") {
  OneDisk disk;
  auto const ledger = open(disk.storage());
  for (std::uint64_t round = 0; round < 5; ++round) REQUIRE(append(*ledger, round).has_value());
  auto const figures = ledger->history(2, 2).value();
  REQUIRE(figures.size() == 2);
  CHECK(figures[0].round == 2);
  CHECK(figures[0].entry == 3);
  CHECK(figures[0].loss == 2.0F);
  CHECK(figures[0].eval_loss == 0.5F);
  CHECK(figures[0].participants == 3);
  CHECK(figures[0].bytes_out == 1ULL << 40);
  CHECK(figures[1].round == 3);
  CHECK_FALSE(figures[1].eval_loss.has_value());
  CHECK(figures[0].consensus.js == 0.125);
  CHECK_FALSE(figures[0].consensus.l2.has_value());
  CHECK(figures[1].consensus.l2 == 1.5);
  CHECK_FALSE(figures[1].consensus.js.has_value());
  CHECK_FALSE(ledger->history(0, 1).value().front().loss.has_value());  // it only watched
}

TEST_CASE("a ledger from before distances were measured goes on") {
  OneDisk disk;
  REQUIRE(append(*open(disk.storage()), 1).has_value());
  {
    auto const database = disk.storage().open_database("ledger.db").value();
    REQUIRE(execute(*database, "drop table consensus").has_value());
  }
  auto const ledger = open(disk.storage());
  CHECK(ledger->set_aside().empty());
  REQUIRE(append(*ledger, 2).has_value());
  auto const figures = ledger->history(0, 10).value();
  REQUIRE(figures.size() == 2);
  CHECK_FALSE(figures[0].consensus.l2.has_value());
  CHECK(figures[1].consensus.js == 0.125);
}

TEST_CASE("an entry is in the chain whole or not at all, and stays once it was said to be") {
  cut_at_every_step([](Storage& storage) { REQUIRE(append(*open(storage), 1).has_value()); },
                    [](Storage& storage) {
                      auto ledger = Ledger::open(storage);
                      return ledger.has_value() && append(**ledger, 2).has_value();
                    },
                    [](Storage& storage, bool done) {
                      auto const ledger = open(storage);
                      auto const rounds = check_chain(*ledger);
                      REQUIRE(!rounds.empty());
                      CHECK(rounds.front() == 1);
                      CHECK(rounds.size() <= 2);
                      if (done) CHECK(rounds.size() == 2);
                      CHECK(ledger->history(0, 10).value().size() == rounds.size());
                      CHECK(append(*ledger, 3).has_value());
                      CHECK(check_chain(*ledger).back() == 3);
                    });
}

TEST_CASE("a damaged ledger is set aside and a new chain begins") {
  OneDisk disk;
  REQUIRE(disk.storage().write_atomic("ledger.db", Bytes(5000, 'x')).has_value());
  auto const ledger = open(disk.storage());
  CHECK(ledger->set_aside() == "ledger.db.damaged");
  CHECK(ledger->head().entries == 0);
  CHECK(append(*ledger, 1).has_value());
}

TEST_CASE("a ledger whose tables were changed is set aside and a new chain begins") {
  for (std::string_view const change :
       {"alter table rounds add column weather text", "alter table rounds drop column loss",
        "alter table entries rename column entry to record",
        "drop table rounds; create table rounds (number text)", "create table notes (text text)"}) {
    CAPTURE(change);
    OneDisk disk;
    REQUIRE(append(*open(disk.storage()), 1).has_value());
    REQUIRE(execute(*disk.storage().open_database("ledger.db").value(), change).has_value());
    auto const ledger = open(disk.storage());
    CHECK(ledger->set_aside() == "ledger.db.damaged");
    CHECK(ledger->head().entries == 0);
    CHECK(append(*ledger, 1).has_value());
  }
}

TEST_CASE("an index that was dropped is made again") {
  OneDisk disk;
  REQUIRE(append(*open(disk.storage()), 1).has_value());
  REQUIRE(execute(*disk.storage().open_database("ledger.db").value(), "drop index rounds_by_round")
              .has_value());
  CHECK(open(disk.storage())->set_aside().empty());
}
