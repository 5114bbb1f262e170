#include "grapevine/crypto/identity.hpp"

#include "unit/hex.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>
#include <sodium.h>

using namespace grapevine;

namespace {

// Key A of the libp2p peer-ids specification.
std::string const seed_a = "7e0830617c4a7de83925dfb2694556b12936c477a0e1feb2e148ec9da60fee7d";
std::string const public_a = "1ed1e8fae2c4a144b8be8fd4b47bf3d3b34b871c3cacf6010f0e42d474fce27e";

Identity identity_a() { return Identity::from_seed(unhex_array<32>(seed_a)); }

}  // namespace

TEST_CASE("a key pair follows from its seed, and its protobufs are libp2p's") {
  auto const a = identity_a();
  CHECK(to_hex(a.public_key().raw()) == public_a);
  CHECK(to_hex(a.public_key().protobuf()) == "08011220" + public_a);
  CHECK(to_hex(a.protobuf()) == "08011240" + seed_a + public_a);
  CHECK(PublicKey::from_protobuf(a.public_key().protobuf()).value() == a.public_key());
  CHECK(Identity::from_protobuf(a.protobuf()).value().public_key() == a.public_key());
  auto const b = Identity::from_seed(unhex_array<32>(std::string(62, '0') + "01"));
  CHECK(to_hex(b.public_key().raw()) ==
        "4cb5abf6ad79fbf5abbccafcc269d85cd2651ed4b885b5869f241aedf0a5ba29");
}

TEST_CASE("the old private key form is read, and a foreign public key in either form refused") {
  auto const old_form = unhex("08011260" + seed_a + public_a + public_a);
  CHECK(Identity::from_protobuf(old_form).value().public_key() == identity_a().public_key());
  for (std::size_t const flipped : {36U, 68U, 99U}) {
    auto bytes = old_form;
    bytes[flipped] ^= 1;
    CHECK(Identity::from_protobuf(bytes).error().errc() == Errc::bad_key);
  }
  auto bytes = identity_a().protobuf();
  bytes.back() ^= 1;
  CHECK(Identity::from_protobuf(bytes).error().errc() == Errc::bad_key);
}

TEST_CASE("key protobufs that are not canonical are refused") {
  for (auto const& text :
       std::initializer_list<std::string>{"", "08", "08011220", "08011221",  // nothing, cut short
                                          "1220" + public_a + "0801",        // fields swapped
                                          "0881001220" + public_a,           // type 1, not minimal
                                          "0881808080101220" + public_a,     // type 2^32 + 1
                                          "08011220" + public_a + "00",      // one byte too many
                                          "08011220" + public_a.substr(2)}) {  // one too few
    CAPTURE(text);
    CHECK(PublicKey::from_protobuf(unhex(text)).error().errc() == Errc::bad_key);
    CHECK(Identity::from_protobuf(unhex(text)).error().errc() == Errc::bad_key);
  }
  for (auto const* type : {"00", "02", "03"})
    CHECK(PublicKey::from_protobuf(unhex("08" + std::string(type) + "1220" + public_a))
              .error()
              .errc() == Errc::unsupported);
}

TEST_CASE("a signature holds for its message and key alone") {
  auto const a = identity_a();
  auto const other = Identity::from_seed(unhex_array<32>(public_a));
  CHECK(rc::check("signatures", [&](Bytes message) {
    auto signature = a.sign(message);
    RC_ASSERT(a.public_key().verifies(message, signature));
    RC_ASSERT(!other.public_key().verifies(message, signature));
    message.push_back(0);
    RC_ASSERT(!a.public_key().verifies(message, signature));
    message.pop_back();
    signature[*rc::gen::inRange<std::size_t>(0, 64)] ^= 0x10;
    RC_ASSERT(!a.public_key().verifies(message, signature));
  }));
  auto const signature = a.sign({});
  CHECK_FALSE(a.public_key().verifies({}, {}));
  CHECK_FALSE(a.public_key().verifies({}, ByteView(signature).first(63)));
  CHECK_FALSE(PublicKey().verifies({}, signature));
}

TEST_CASE("a signature's scalar must be below the group order") {
  auto const a = identity_a();
  auto signature = a.sign(as_bytes("hello"));
  // S + L signs the same message to a careless verifier.
  auto const order = unhex("edd3f55c1a631258d69cf7a2def9de14 00000000000000000000000000000010");
  int carry = 0;
  for (std::size_t i = 0; i < 32; ++i) {
    carry += signature[32 + i] + order[i];
    signature[32 + i] = static_cast<std::uint8_t>(carry);
    carry >>= 8;
  }
  CHECK_FALSE(a.public_key().verifies(as_bytes("hello"), signature));
}

TEST_CASE("points of small order are refused in every encoding") {
  std::string const ff(58, 'f');
  for (auto const& text :
       {"01" + std::string(62, '0'), "01" + std::string(60, '0') + "80",  // order 1
        "ec" + ff + "ff7f", "ec" + ff + "ffff",                           // order 2
        std::string(64, '0'), std::string(62, '0') + "80",                // order 4
        std::string("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"),
        std::string("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85"),
        std::string("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"),
        std::string("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa"),
        "ed" + ff + "ff7f", "ed" + ff + "ffff",     // y = p, that is 0
        "ee" + ff + "ff7f", "ee" + ff + "ffff"}) {  // y = p + 1, that is 1
    CAPTURE(text);
    CHECK(unhex(text).size() == 32);
    CHECK(PublicKey::from_raw(unhex(text)).error().errc() == Errc::bad_key);
    CHECK(PublicKey::from_protobuf(unhex("08011220" + text)).error().errc() == Errc::bad_key);
  }
}

TEST_CASE("points off the curve, not canonical or of mixed order are refused") {
  CHECK_FALSE(PublicKey::from_raw(unhex("02" + std::string(62, '0'))).has_value());  // off
  for (std::uint8_t low = 0xed; low != 0; ++low) {  // y = p … 2^255 - 1, either sign
    Bytes raw(32, 0xff);
    raw[0] = low;
    CHECK_FALSE(PublicKey::from_raw(raw).has_value());
    raw[31] = 0x7f;
    CHECK_FALSE(PublicKey::from_raw(raw).has_value());
  }
  auto const torsion = unhex("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a");
  std::array<std::uint8_t, 32> mixed{};
  REQUIRE(crypto_core_ed25519_add(mixed.data(), identity_a().public_key().raw().data(),
                                  torsion.data()) == 0);
  CHECK(PublicKey::from_raw(mixed).error().errc() == Errc::bad_key);
  CHECK_FALSE(PublicKey::from_raw({}).has_value());
  CHECK_FALSE(PublicKey::from_raw(Bytes(33)).has_value());
}

TEST_CASE("a key that was proven lends nothing to one that looks like it") {
  auto const good = identity_a().public_key().raw();
  int refused = 0;
  for (int time = 0; time < 2; ++time)
    for (int change = 0; change < 256; ++change) {
      auto raw = good;
      raw[31] ^= static_cast<std::uint8_t>(change);
      CHECK(PublicKey::from_raw(good).has_value());
      bool const valid = crypto_core_ed25519_is_valid_point(raw.data()) == 1;
      CHECK(PublicKey::from_raw(raw).has_value() == valid);
      if (!valid) ++refused;
    }
  CHECK(refused > 256);
}

TEST_CASE("generated identities follow from the randomness they are given") {
  SeededRandom one(1), same(1), two(2);
  auto const a = Identity::generate(one);
  CHECK(a.public_key() == Identity::generate(same).public_key());
  CHECK(a.public_key() != Identity::generate(two).public_key());
}
