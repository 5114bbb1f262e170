#include "grapevine/crypto/aead.hpp"

#include "unit/hex.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

using namespace grapevine;

namespace {

AeadKey const key =
    unhex_array<32>("808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f");
AeadNonce const nonce = unhex_array<12>("070000004041424344454647");

Bytes seal(ByteView associated, ByteView plain) {
  Bytes out(plain.size() + aead_tag_bytes);
  Aead(key).seal(nonce, associated, plain, out);
  return out;
}

}  // namespace

TEST_CASE("sealing agrees with RFC 8439 section 2.8.2") {
  auto const plain = as_bytes(
      "Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, "
      "sunscreen would be it.");
  auto const associated = unhex("50515253c0c1c2c3c4c5c6c7");
  CHECK(to_hex(seal(associated, plain)) ==
        "d31a8d34648e60db7b86afbc53ef7ec2a4aded51296e08fea9e2b5a736ee62d6"
        "3dbea45e8ca9671282fafb69da92728b1a71de0a9e060b2905d6a5b67ecd3b36"
        "92ddbd7f2d778b8c9803aee328091b58fab324e4fad675945585808b4831d7bc"
        "3ff4def08e4b7a9de576d26586cec64b61161ae10b594f09e26a7e902ecbd0600691");
}

TEST_CASE("one object seals and opens many messages, in place too") {
  Aead aead(key);
  CHECK(rc::check("round trip", [&](Bytes const& plain, Bytes const& associated) {
    Bytes buffer = plain;
    buffer.resize(plain.size() + aead_tag_bytes);
    aead.seal(nonce, associated, ByteView(buffer).first(plain.size()), buffer);
    RC_ASSERT(buffer == seal(associated, plain));
    Bytes apart(plain.size());
    RC_ASSERT(aead.open(nonce, associated, buffer, apart).has_value());
    RC_ASSERT(apart == plain);
    auto const in_place = MutableByteView(buffer).first(plain.size());
    RC_ASSERT(aead.open(nonce, associated, buffer, in_place).has_value());
    RC_ASSERT(std::equal(plain.begin(), plain.end(), in_place.begin(), in_place.end()));
  }));
}

TEST_CASE("any change to a sealed message is noticed, and the object stays usable") {
  auto const sealed = seal(as_bytes("header"), as_bytes("text"));
  Aead aead(key);
  Bytes out(4);
  for (std::size_t bit = 0; bit < sealed.size() * 8; ++bit) {
    auto changed = sealed;
    changed[bit / 8] ^= static_cast<std::uint8_t>(1U << bit % 8);
    CHECK(aead.open(nonce, as_bytes("header"), changed, out).error().errc() ==
          Errc::decrypt_failed);
  }
  CHECK_FALSE(aead.open(nonce, as_bytes("other"), sealed, out).has_value());
  CHECK_FALSE(aead.open({}, as_bytes("header"), sealed, out).has_value());
  CHECK_FALSE(aead.open(nonce, {}, ByteView(sealed).first(15), {}).has_value());
  CHECK_FALSE(aead.open(nonce, {}, {}, {}).has_value());
  CHECK(aead.open(nonce, as_bytes("header"), sealed, out).has_value());
  CHECK(as_text(out) == "text");
}

TEST_CASE("X25519 agrees with RFC 7748 section 5.2 and with the Noise vectors") {
  auto const shared =
      x25519(unhex_array<32>("a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4"),
             unhex_array<32>("e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c"));
  CHECK(to_hex(shared.value()) ==
        "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552");
  auto const pair = X25519KeyPair::from_secret(
      unhex_array<32>("893e28b9dc6ca8d611ab664754b8ceb7bac5117349a4439a6b0569da977c464a"));
  CHECK(to_hex(pair.public_key) ==
        "ca35def5ae56cec33dc2036731ab14896bc4c75dbb07a61f879f8e3afa4c7944");
}

TEST_CASE("both sides agree on a secret; a small-order point gives none") {
  SeededRandom random(1);
  auto const a = X25519KeyPair::generate(random);
  auto const b = X25519KeyPair::generate(random);
  CHECK(x25519(a.secret, b.public_key).value() == x25519(b.secret, a.public_key).value());
  for (auto const* point : {"0000000000000000000000000000000000000000000000000000000000000000",
                            "0100000000000000000000000000000000000000000000000000000000000000",
                            "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
                            "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
                            "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"}) {
    CAPTURE(point);
    CHECK(x25519(a.secret, unhex_array<32>(point)).error().errc() == Errc::bad_key);
  }
}
