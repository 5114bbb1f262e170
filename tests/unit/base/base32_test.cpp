#include "grapevine/base/base32.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

using namespace grapevine;

TEST_CASE("base32 goes both ways") {
  CHECK(rc::check("round trip", [](Bytes const& bytes) {
    RC_ASSERT(from_base32(to_base32(bytes)).value() == bytes);
  }));
}

TEST_CASE("base32 has the digits of RFC 4648") {
  CHECK(to_base32(as_bytes("")).empty());
  CHECK(to_base32(as_bytes("f")) == "my");
  CHECK(to_base32(as_bytes("fo")) == "mzxq");
  CHECK(to_base32(as_bytes("foobar")) == "mzxw6ytboi");
}

TEST_CASE("base32 has one text for each byte string") {
  CHECK_FALSE(from_base32("MY").has_value());
  CHECK_FALSE(from_base32("my======").has_value());
  CHECK_FALSE(from_base32("mz").has_value());   // stray bits that are not zero
  CHECK_FALSE(from_base32("mya").has_value());  // a digit that adds no byte
  CHECK_FALSE(from_base32("m1").has_value());
}
