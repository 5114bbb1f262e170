#include "grapevine/base/amount.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace grapevine;

TEST_CASE("amounts are what people write") {
  CHECK(parse_bytes("4096B").value() == 4096);
  CHECK(parse_bytes("200GB").value() == 200'000'000'000);
  CHECK(parse_bytes("1.5 TB").value() == 1'500'000'000'000);
  CHECK(parse_bytes("700MiB").value() == 700ULL * 1024 * 1024);
  CHECK(parse_bytes("2KiB").value() == 2048);
  CHECK(parse_bytes("1TiB").value() == 1ULL << 40);
  CHECK(parse_bytes("1KB").value() == 1000);
  CHECK(parse_bytes("0.5kB").value() == 500);
}

TEST_CASE("rates are in bytes a second, also where people count bits") {
  CHECK(parse_byte_rate("500kB").value() == 500'000);
  CHECK(parse_byte_rate("2MB/s").value() == 2'000'000);
  CHECK(parse_byte_rate("4Mbit").value() == 500'000);
  CHECK(parse_byte_rate("1 Gbit/s").value() == 125'000'000);
  CHECK(parse_byte_rate("16bits").value() == 2);
}

TEST_CASE("what could mean something else is refused") {
  for (std::string const text : {"", "B", "12", "4Mb", "4mb", "-1kB", "0B", "0.1B", "1e3B", "nanB",
                                 "infB", "5GB ", "5  GB", "5XB", "9999999TB", "4Mbit"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_bytes(text).has_value());
  }
  for (std::string const text : {"", "4Mb/s", "kB/s", "2MB/h", "2MB/s/s", "500"}) {
    CAPTURE(text);
    auto const parsed = parse_byte_rate(text);
    REQUIRE_FALSE(parsed.has_value());
    CHECK(parsed.error().errc() == Errc::usage);
  }
}

TEST_CASE("the largest amount") {
  CHECK(parse_bytes("1152921504606846976B").value() == 1ULL << 60);
  CHECK_FALSE(parse_bytes("1152921504606848000B").has_value());
}
