#include "node/pair_store_detail.hpp"

#include "grapevine/base/limits.hpp"
#include "unit/node/one_disk.hpp"
#include "unit/wire/keys.hpp"

using namespace grapevine;
using grapevine::test::cut_at_every_step;
using grapevine::test::OneDisk;

namespace {

PairKey const exchange{7, MixLane::joint, peer_b};
StateCorrection const owed{{1.5F, -2.0F, 0.25F}, {0.5F, 0.0F, -1.0F}};

std::unique_ptr<PairStore> open(Storage& storage) {
  auto opened = PairStore::open(storage);
  REQUIRE(opened.has_value());
  return std::move(*opened);
}

void check_owed(PairStore& store, PairKey const& of) {
  auto const correction = store.correction(of, owed.parameters.size());
  REQUIRE(correction.has_value());
  CHECK(correction->parameters == owed.parameters);
  CHECK(correction->momentum == owed.momentum);
}

}  // namespace

TEST_CASE("an empty store knows of nothing") {
  OneDisk disk;
  auto const store = open(disk.storage());
  CHECK(store->set_aside().empty());
  CHECK(store->decisions().value().empty());
  CHECK(store->doubts().value().empty());
  CHECK(store->correction(exchange, owed.parameters.size()).error().errc() == Errc::not_found);
}

TEST_CASE("a decision that was told is there after a crash, and none is there by halves") {
  bool cut_before = false;
  bool cut_after = false;
  cut_at_every_step(
      [](Storage& storage) {
        REQUIRE(open(storage)->decide({6, MixLane::joint, peer_b}).has_value());
      },
      [](Storage& storage) {
        auto store = PairStore::open(storage);
        return store.has_value() && (*store)->decide(exchange).has_value();
      },
      [&](Storage& storage, bool told) {
        auto const left = open(storage)->decisions().value();
        CHECK(left.contains({6, MixLane::joint, peer_b}));
        if (told) CHECK(left.contains(exchange));
        CHECK(left.size() == (left.contains(exchange) ? 2U : 1U));
        (left.contains(exchange) ? cut_after : cut_before) = true;
      });
  CHECK(cut_before);
  CHECK(cut_after);
}

TEST_CASE("the oldest decisions are forgotten, after as many rounds as the limit says") {
  OneDisk disk;
  auto const store = open(disk.storage());
  REQUIRE(store->decide({1, MixLane::joint, peer_a}).has_value());
  REQUIRE(store->decide({1, MixLane::joint, peer_a}).has_value());  // again is as once
  REQUIRE(store->decide({1 + limits::pair_decisions_max, MixLane::joint, peer_b}).has_value());
  CHECK(store->decisions().value().size() == 2);
  REQUIRE(store->decide({2 + limits::pair_decisions_max, MixLane::joint, peer_b}).has_value());
  auto const left = store->decisions().value();
  CHECK(left.size() == 2);
  CHECK_FALSE(left.contains({1, MixLane::joint, peer_a}));
}

TEST_CASE("a doubt and what it may owe outlive a crash, until they are forgotten") {
  OneDisk disk;
  REQUIRE(open(disk.storage())->keep_doubt(exchange, owed).has_value());
  disk.lose_power();
  auto store = open(disk.storage());
  auto const kept = store->doubts().value();
  REQUIRE(kept.size() == 1);
  CHECK(kept.at(exchange).sat_out == 0);
  CHECK_FALSE(kept.at(exchange).applied.has_value());
  check_owed(*store, exchange);

  Version const applied{11, sha256(as_bytes("state"))};
  REQUIRE(store->update_doubt(exchange, {3, applied}).has_value());
  disk.lose_power();
  store = open(disk.storage());
  CHECK(store->doubts().value().at(exchange).sat_out == 3);
  CHECK(store->doubts().value().at(exchange).applied == applied);

  REQUIRE(store->update_doubt(exchange, {4, std::nullopt}).has_value());
  CHECK_FALSE(store->doubts().value().at(exchange).applied.has_value());
  REQUIRE(store->forget_doubt(exchange).has_value());
  REQUIRE(store->forget_doubt(exchange).has_value());
  CHECK(store->doubts().value().empty());
  CHECK(store->correction(exchange, owed.parameters.size()).error().errc() == Errc::not_found);
}

TEST_CASE("a correction is in the state it made and in those of later rounds") {
  Version const made{11, sha256(as_bytes("made"))};
  Version const before{11, sha256(as_bytes("before"))};
  PairDoubt const open_still;
  PairDoubt const settled{0, made};
  for (auto const& state : {made, before, Version{12, made.state}})
    CHECK_FALSE(open_still.is_in(state));
  CHECK(settled.is_in(made));
  CHECK_FALSE(settled.is_in(before));
  CHECK(settled.is_in({12, before.state}));
  CHECK_FALSE(settled.is_in({10, made.state}));
}

TEST_CASE("a doubt is kept with its whole correction or not at all") {
  cut_at_every_step([](Storage& storage) { (void)open(storage); },
                    [](Storage& storage) {
                      auto store = PairStore::open(storage);
                      return store.has_value() && (*store)->keep_doubt(exchange, owed).has_value();
                    },
                    [](Storage& storage, bool done) {
                      auto const store = open(storage);
                      bool const kept = store->doubts().value().contains(exchange);
                      if (done) CHECK(kept);
                      if (kept) check_owed(*store, exchange);
                    });
}

TEST_CASE("a correction that is not what was kept is refused") {
  OneDisk disk;
  auto const store = open(disk.storage());
  REQUIRE(store->keep_doubt(exchange, owed).has_value());
  auto const path = "pair/7-joint-" + peer_b.text();
  REQUIRE(disk.storage().write_atomic(path, Bytes(24)).has_value());
  CHECK(store->correction(exchange, owed.parameters.size()).error().errc() == Errc::hash_mismatch);
  REQUIRE(disk.storage().write_atomic(path, Bytes(25)).has_value());
  CHECK(store->correction(exchange, owed.parameters.size()).error().errc() == Errc::oversize);
  REQUIRE(disk.storage().remove(path).has_value());
  CHECK(store->correction(exchange, owed.parameters.size()).error().errc() == Errc::not_found);
}

TEST_CASE("a damaged file is set aside, and a second one beside it") {
  OneDisk disk;
  for (std::string const aside : {"pair.db.damaged", "pair.db.damaged-1"}) {
    REQUIRE(disk.storage().write_atomic("pair.db", Bytes(5000, 'x')).has_value());
    auto const store = open(disk.storage());
    CHECK(store->set_aside() == aside);
    CHECK(disk.storage().read(aside, 5000) == Bytes(5000, 'x'));
    CHECK(store->decisions().value().empty());
    CHECK(store->decide(exchange).has_value());
  }
}
