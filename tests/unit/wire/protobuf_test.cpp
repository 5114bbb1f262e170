#include "grapevine/wire/protobuf.hpp"

#include "grapevine/base/limits.hpp"
#include "unit/hex.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

using namespace grapevine;
using protobuf::Reader;
using protobuf::WireType;
using protobuf::Writer;

namespace {

Errc error_of(ByteView message) {
  Reader reader(message);
  for (auto field = reader.next();; field = reader.next()) {
    if (!field.has_value()) return field.error().errc();
    REQUIRE(field->has_value());
  }
}

std::uint64_t varint_of(std::string const& hex) {
  auto const bytes = unhex("08" + hex);
  return Reader(bytes).next().value().value().value;
}

}  // namespace

TEST_CASE("a message is read field by field, of every wire type") {
  auto const bytes = unhex("089601 120568656c6c6f 1d04030201 210807060504030201 f8ffffff0f01");
  Reader reader(bytes);
  auto field = reader.next().value().value();
  CHECK(field.is(1, WireType::varint));
  CHECK_FALSE(field.is(1, WireType::bytes));
  CHECK_FALSE(field.is(2, WireType::varint));
  CHECK(field.value == 150);
  field = reader.next().value().value();
  CHECK(field.is(2, WireType::bytes));
  CHECK(as_text(field.bytes) == "hello");
  field = reader.next().value().value();
  CHECK(field.is(3, WireType::fixed32));
  CHECK(field.value == 0x01020304);
  field = reader.next().value().value();
  CHECK(field.is(4, WireType::fixed64));
  CHECK(field.value == 0x0102030405060708);
  CHECK(reader.next().value().value().is((1U << 29) - 1, WireType::varint));
  CHECK_FALSE(reader.next().value().has_value());
}

TEST_CASE("varints of protobuf may be ten bytes long and not minimal") {
  CHECK(varint_of("ffffffffffffffffff01") == ~0ULL);
  CHECK(varint_of("8000") == 0);
  CHECK(varint_of("81808080808080808000") == 1);
  CHECK(error_of(unhex("08ffffffffffffffffff02")) == Errc::malformed);  // 65 bits
  CHECK(error_of(unhex("0880808080808080808080")) == Errc::malformed);  // eleven bytes
}

TEST_CASE("groups, field zero and wrong lengths are refused") {
  for (auto const* hex : {"00", "02", "0b", "0c", "0e", "0f", "808080808001"}) {
    CAPTURE(hex);
    CHECK(error_of(unhex(hex)) == Errc::malformed);
  }
  for (auto const* hex : {"08", "80", "0880", "12", "1201", "12ffffffffffffffffff01", "1d040302",
                          "2108070605040302"}) {
    CAPTURE(hex);
    CHECK(error_of(unhex(hex)) == Errc::truncated);
  }
}

TEST_CASE("a message may have so many fields and no more") {
  Writer writer;
  for (std::size_t i = 0; i < limits::protobuf_fields_max; ++i) writer.varint(1, 0);
  Reader reader(writer.view());
  for (std::size_t i = 0; i < limits::protobuf_fields_max; ++i)
    REQUIRE(reader.next().value().has_value());
  CHECK_FALSE(reader.next().value().has_value());
  writer.varint(1, 0);
  CHECK(error_of(writer.view()) == Errc::oversize);
}

TEST_CASE("what is written is read back") {
  CHECK(rc::check("round trip", [](std::uint64_t a, std::uint64_t b, Bytes const& c) {
    auto const number = *rc::gen::inRange<std::uint32_t>(1, 1U << 29);
    Writer writer;
    writer.varint(number, a);
    writer.fixed64(number, b);
    writer.bytes(number, c);
    writer.string(number, "text");
    auto const bytes = writer.take();
    Reader reader(bytes);
    auto field = reader.next().value().value();
    RC_ASSERT(field.is(number, WireType::varint) && field.value == a);
    field = reader.next().value().value();
    RC_ASSERT(field.is(number, WireType::fixed64) && field.value == b);
    field = reader.next().value().value();
    RC_ASSERT(field.is(number, WireType::bytes) && std::ranges::equal(field.bytes, c));
    RC_ASSERT(as_text(reader.next().value().value().bytes) == "text");
    RC_ASSERT(!reader.next().value().has_value());
  }));
}

TEST_CASE("any bytes end in an error or at the end") {
  CHECK(rc::check("total", [](Bytes const& bytes) {
    Reader reader(bytes);
    std::size_t fields = 0;
    auto field = reader.next();
    for (; field.has_value() && field->has_value(); field = reader.next()) ++fields;
    RC_ASSERT(fields <= bytes.size() / 2);
  }));
}
