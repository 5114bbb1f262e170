#include "grapevine/wire/varint.hpp"

#include "unit/hex.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

using namespace grapevine;

TEST_CASE("varints agree with the vectors of multiformats") {
  for (auto const& [value, hex] : {std::pair<std::uint64_t, char const*>{0, "00"},
                                   {1, "01"},
                                   {127, "7f"},
                                   {128, "8001"},
                                   {255, "ff01"},
                                   {300, "ac02"},
                                   {16384, "808001"},
                                   {varint_max, "ffffffffffffffff7f"}}) {
    CAPTURE(value);
    CHECK(to_hex(encode_varint(value)) == hex);
    auto const decoded = decode_varint(unhex(hex));
    CHECK(decoded.value().value == value);
    CHECK(decoded.value().size == unhex(hex).size());
  }
}

TEST_CASE("a varint cut short is told from a malformed one") {
  for (auto const* hex : {"", "80", "ffff", "ffffffffffffffff"})
    CHECK(decode_varint(unhex(hex)).error().errc() == Errc::truncated);
  for (auto const* hex : {"8000", "ff00", "80808000", "ffffffffffffffffff", "80808080808080808001",
                          "ffffffffffffffffff01", "80808080808080808000"}) {
    CAPTURE(hex);
    CHECK(decode_varint(unhex(hex)).error().errc() == Errc::malformed);
  }
}

TEST_CASE("varints go both ways, whatever follows them") {
  CHECK(rc::check("round trip", [](std::uint64_t any, Bytes const& rest) {
    auto const value = any >> *rc::gen::inRange(1, 64);
    Bytes bytes = encode_varint(value);
    auto const size = bytes.size();
    append(bytes, rest);
    auto const decoded = decode_varint(bytes);
    RC_ASSERT(decoded.has_value());
    RC_ASSERT(decoded->value == value);
    RC_ASSERT(decoded->size == size);
  }));
}

TEST_CASE("what decodes is in minimal form") {
  CHECK(rc::check("minimal", [](Bytes const& bytes) {
    auto const decoded = decode_varint(bytes);
    if (!decoded.has_value()) return;
    auto const again = encode_varint(decoded->value);
    RC_ASSERT(std::equal(again.begin(), again.end(), bytes.begin()));
    RC_ASSERT(again.size() == decoded->size);
  }));
}
