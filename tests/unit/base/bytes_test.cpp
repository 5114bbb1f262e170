#include "grapevine/base/bytes.hpp"

#include "grapevine/base/endpoint.hpp"
#include "grapevine/base/random.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

using namespace grapevine;

TEST_CASE("hex goes both ways") {
  CHECK(rc::check("round trip",
                  [](Bytes const& bytes) { RC_ASSERT(from_hex(to_hex(bytes)).value() == bytes); }));
  CHECK(from_hex("0aFF").value() == Bytes{0x0a, 0xff});
  CHECK_FALSE(from_hex("0").has_value());
  CHECK_FALSE(from_hex("zz").has_value());
}

TEST_CASE("big-endian integers go both ways") {
  Bytes out;
  append_be<std::uint32_t>(out, 0x01020304);
  CHECK(out == Bytes{1, 2, 3, 4});
  CHECK(read_be<std::uint32_t>(out) == 0x01020304U);
}

TEST_CASE("endpoints print as people write them") {
  CHECK(Endpoint{IpAddress::parse("127.0.0.1").value(), 80}.text() == "127.0.0.1:80");
  CHECK(Endpoint{IpAddress::parse("::1").value(), 80}.text() == "[::1]:80");
  CHECK(IpAddress::parse("::1").value().is_loopback());
  CHECK(IpAddress::parse("10.1.2.3").value().is_private());
  CHECK_FALSE(IpAddress::parse("1.2.3").has_value());
}

TEST_CASE("seeded randomness repeats and stays in bounds") {
  SeededRandom a(7), b(7), c(8);
  CHECK(a.next() == b.next());
  CHECK(a.next() != c.next());
  for (int i = 0; i < 1000; ++i) CHECK(a.below(3) < 3);
}
