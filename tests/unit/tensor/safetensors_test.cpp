#include "grapevine/tensor/safetensors.hpp"

#include "grapevine/base/limits.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

using namespace grapevine;

namespace {

Bytes file_of(std::string const& header, std::size_t data_bytes) {
  Bytes file(8 + header.size() + data_bytes);
  std::uint64_t const length = header.size();
  std::memcpy(file.data(), &length, 8);
  std::memcpy(file.data() + 8, header.data(), header.size());
  return file;
}

std::string complaint(std::string const& header, std::size_t data_bytes) {
  auto const file = file_of(header, data_bytes);
  auto const parsed = safetensors::parse(file);
  return parsed ? "accepted" : parsed.error().detail();
}

std::string tensor(std::string const& name, std::string const& dtype, std::string const& shape,
                   std::string const& offsets) {
  return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":[" + shape +
         "],\"data_offsets\":[" + offsets + "]}";
}

}  // namespace

TEST_CASE("what is written can be read") {
  Bytes const first{1, 0, 0, 0, 2, 0, 0, 0};
  Bytes const second{7, 8, 9};
  std::vector<safetensors::Entry> const entries{
      {.name = "b", .dtype = safetensors::Dtype::i32, .shape = {1, 2}, .data = first},
      {.name = "a", .dtype = safetensors::Dtype::u8, .shape = {3}, .data = second},
      {.name = "empty", .shape = {0, 5}, .data = {}}};
  auto const bytes = safetensors::write(entries, {{"format", "pt"}});
  auto const file = safetensors::parse(bytes).value();
  REQUIRE(file.tensors.size() == 3);
  CHECK(file.metadata.at("format") == "pt");
  CHECK(file.tensors.at("b").dtype == safetensors::Dtype::i32);
  CHECK(file.tensors.at("b").shape == std::vector<std::int64_t>{1, 2});
  CHECK(Bytes(file.tensors.at("b").data.begin(), file.tensors.at("b").data.end()) == first);
  CHECK(Bytes(file.tensors.at("a").data.begin(), file.tensors.at("a").data.end()) == second);
  // As the reference implementation writes it: the data begins at a multiple of 8.
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  CHECK(length % 8 == 0);
}

TEST_CASE("a file that the reference implementation writes is read") {
  auto const header = "{\"__metadata__\":{\"format\":\"pt\"}," + tensor("w", "F32", "2", "0,8") +
                      "," + tensor("s", "BF16", "", "8,10") + "}      ";
  CHECK(complaint(header, 10) == "accepted");
  CHECK(complaint("{}", 0) == "accepted");
}

TEST_CASE("hostile headers are refused, and the message says why") {
  auto const one = [](std::string const& shape, std::string const& offsets, std::size_t bytes) {
    return complaint("{" + tensor("w", "F32", shape, offsets) + "}", bytes);
  };
  CHECK(one("2", "0,8", 8) == "accepted");
  CHECK(one("2", "0,8", 7) == "w: bytes 0..8 of 7");
  CHECK(one("2", "8,0", 8) == "w: bytes 8..0 of 8");
  CHECK(one("3", "0,8", 8) == "w: its shape does not fill its bytes");
  CHECK(one("2", "0,8", 9) == "1 bytes after the last tensor");
  CHECK(one("2", "1,9", 9) == "w: begins at 1, not at 0");
  CHECK(one("4294967296,4294967296", "0,0", 0) == "w: its shape does not fill its bytes");
  CHECK(one("9223372036854775808", "0,8", 8) == "header holds a number that is too large at shape");
  CHECK(one("-1", "0,8", 8) == "header holds a negative number at shape");
  CHECK(one("1.5", "0,8", 8) == "header holds a fraction at shape");
  CHECK(one("1,1,1,1,1,1,1,2", "0,8", 8) == "accepted");
  CHECK(one("1,1,1,1,1,1,1,1,2", "0,8", 8) == "header holds too many numbers at shape");
  CHECK(one("2", "0", 8) == "header holds data_offsets that are not two at data_offsets");
  CHECK(one("[2]", "0,8", 8) == "header holds a list at shape");
  CHECK(complaint("{" + tensor("w", "F64", "1", "0,8") + "}", 8) == "w: data type F64");
  auto const overlap =
      "{" + tensor("a", "U8", "4", "0,4") + "," + tensor("b", "U8", "4", "2,6") + "}";
  CHECK(complaint(overlap, 6) == "b: begins at 2, not at 4");
  auto const twice =
      "{" + tensor("a", "U8", "4", "0,4") + "," + tensor("a", "U8", "4", "4,8") + "}";
  CHECK(complaint(twice, 8) == "header holds a repeated name at a");
  CHECK(complaint("{\"w\":{\"dtype\":\"F32\"}}", 0) ==
        "header holds an incomplete tensor at dtype");
  CHECK(complaint("{\"w\":{\"x\":1}}", 0) == "header holds an unknown or repeated key at x");
  CHECK(complaint("{\"__metadata__\":{\"a\":1}}", 0) == "header holds a number at a");
  CHECK(complaint("[]", 0) == "header does not begin with {");
  CHECK(complaint("{} x", 0) == "header is not JSON at byte 4");
  CHECK(complaint("{" + tensor(std::string(limits::tensor_name_max, 'n'), "U8", "1", "0,1") + "}",
                  1) == "accepted");
  CHECK(complaint(
            "{" + tensor(std::string(limits::tensor_name_max + 1, 'n'), "U8", "1", "0,1") + "}", 1)
            .starts_with("header holds a bad name"));
}

TEST_CASE("lengths are checked before anything is read") {
  CHECK(safetensors::parse({}).error().errc() == Errc::truncated);
  CHECK(safetensors::parse(Bytes(7)).error().errc() == Errc::truncated);
  Bytes file = file_of("{}", 0);
  auto const with_length = [&](std::uint64_t length) {
    std::memcpy(file.data(), &length, 8);
    return safetensors::parse(file);
  };
  CHECK(with_length(2).has_value());
  CHECK(with_length(3).error().errc() == Errc::truncated);
  CHECK(with_length(0).error().errc() == Errc::malformed);
  CHECK(with_length(limits::safetensors_header_max).error().errc() == Errc::truncated);
  CHECK(with_length(limits::safetensors_header_max + 1).error().errc() == Errc::oversize);
  CHECK(with_length(UINT64_MAX).error().errc() == Errc::oversize);
}

TEST_CASE("no damaged file crashes the reader") {
  Bytes const data(64, 3);
  std::vector<safetensors::Entry> const entries{{.name = "w", .shape = {4, 4}, .data = data}};
  auto const good = safetensors::write(entries, {{"format", "pt"}});
  for (std::size_t size = 0; size < good.size(); ++size)
    CHECK_FALSE(safetensors::parse(ByteView(good).first(size)).has_value());
  CHECK(rc::check("one byte changed", [&] {
    auto damaged = good;
    damaged[*rc::gen::inRange<std::size_t>(0, damaged.size())] =
        *rc::gen::arbitrary<std::uint8_t>();
    auto const parsed = safetensors::parse(damaged);
    if (!parsed) return;
    for (auto const& [name, view] : parsed->tensors) RC_ASSERT(view.data.size() <= data.size());
  }));
}
