#include "grapevine/crypto/hash.hpp"

#include "unit/hex.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

using namespace grapevine;

TEST_CASE("SHA-256 and HMAC agree with FIPS 180-4 and RFC 4231") {
  CHECK(sha256({}).hex() == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256(as_bytes("abc")).hex() ==
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(hmac_sha256(Bytes(20, 0x0b), as_bytes("Hi There")).hex() ==
        "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  CHECK(hmac_sha256({}, {}).hex() ==
        "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
}

TEST_CASE("a hash in pieces is the hash of the whole, and finish starts anew") {
  CHECK(rc::check("pieces", [](Bytes const& a, Bytes const& b) {
    Sha256 hasher;
    hasher.update(b);
    (void)hasher.finish();
    hasher.update(a);
    hasher.update(b);
    Bytes whole = a;
    append(whole, b);
    RC_ASSERT(hasher.finish() == sha256(whole));
  }));
}

TEST_CASE("a hash prints as hex and as a CID, and parses from both") {
  auto const hash = sha256(as_bytes("hello"));
  // As `ipfs add --raw-leaves` prints it.
  CHECK(hash.cid() == "bafkreibm6jg3ux5qumhcn2b3flc3tyu6dmlb4xa7u5bf44yegnrjhc4yeq");
  CHECK(Hash::parse(hash.cid()).value() == hash);
  CHECK(Hash::parse(hash.hex()).value() == hash);
  CHECK(Hash::from_bytes(hash.view()).value() == hash);
  CHECK_FALSE(hash.is_zero());
  CHECK(Hash{}.is_zero());
}

TEST_CASE("text and bytes that are no hash are refused") {
  for (auto const* text : {"", "b", "zz", "2cf24dba"}) {
    CAPTURE(text);
    CHECK(Hash::parse(text).error().errc() == Errc::malformed);
  }
  CHECK_FALSE(Hash::parse(std::string(64, 'g')).has_value());
  // The same digest under codec dag-pb (0x70).
  CHECK(Hash::parse("bafybeibm6jg3ux5qumhcn2b3flc3tyu6dmlb4xa7u5bf44yegnrjhc4yeq").error().errc() ==
        Errc::unsupported);
  CHECK_FALSE(Hash::from_bytes(Bytes(31)).has_value());
  CHECK_FALSE(Hash::from_bytes(Bytes(33)).has_value());
  CHECK_FALSE(Hash::from_bytes({}).has_value());
}
