#include "grapevine/wire/multibase.hpp"

#include "grapevine/base/limits.hpp"
#include "grapevine/wire/base58.hpp"
#include "unit/hex.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

using namespace grapevine;

TEST_CASE("base58 agrees with the vectors of Bitcoin") {
  for (auto const& [hex, text] :
       {std::pair<char const*, char const*>{"", ""},
        {"61", "2g"},
        {"626262", "a3gV"},
        {"73696d706c792061206c6f6e6720737472696e67", "2cFupjhnEsSn59qHXstmK2ffpLv2"},
        {"00eb15231dfceb60925886b67d065299925915aeb172c06647",
         "1NS17iag9jJgTHD1VXjvLCEnZuQ3rJDE9L"},
        {"00000000000000000000", "1111111111"}}) {
    CHECK(to_base58(unhex(hex)) == text);
    CHECK(from_base58(text).value() == unhex(hex));
  }
  for (auto const* text : {"0", "O", "I", "l", "2g ", "2g\n"})
    CHECK(from_base58(text).error().errc() == Errc::malformed);
}

TEST_CASE("base58 text is bounded") {
  CHECK(from_base58(std::string(limits::base58_text_max, '1')).has_value());
  CHECK(from_base58(std::string(limits::base58_text_max + 1, '1')).error().errc() ==
        Errc::oversize);
}

TEST_CASE("multibase agrees with its vectors") {
  auto const bytes = as_bytes("yes mani !");
  CHECK(to_multibase(Multibase::base32, bytes) == "bpfsxgidnmfxgsibb");
  CHECK(to_multibase(Multibase::base36, bytes) == "k2lcpzo5yikidynfl");
  CHECK(to_multibase(Multibase::base58, bytes) == "z7paNL19xttacUY");
  CHECK(to_multibase(Multibase::base64url, bytes) == "ueWVzIG1hbmkgIQ");
}

TEST_CASE("multibase and base64 go both ways") {
  CHECK(rc::check("round trip", [](Bytes bytes) {
    bytes.resize(std::min<std::size_t>(bytes.size(), 100));
    for (auto const base :
         {Multibase::base32, Multibase::base36, Multibase::base58, Multibase::base64url})
      RC_ASSERT(from_multibase(to_multibase(base, bytes)).value() == bytes);
    RC_ASSERT(from_base64(to_base64(bytes)).value() == bytes);
  }));
}

TEST_CASE("base64 is that of RFC 4648, padded") {
  CHECK(to_base64(as_bytes("")).empty());
  CHECK(to_base64(as_bytes("f")) == "Zg==");
  CHECK(to_base64(as_bytes("fo")) == "Zm8=");
  CHECK(to_base64(as_bytes("foobar")) == "Zm9vYmFy");
  CHECK(to_base64(unhex("fbff")) == "+/8=");
  for (auto const* text : {"Zg", "Zg=", "Zh==", "Z===", "====", "Zm9=", "Zg==Zg==", "Z g=", "-_8="})
    CHECK(from_base64(text).error().errc() == Errc::malformed);
}

TEST_CASE("text in an unknown base is refused") {
  CHECK(from_multibase("").error().errc() == Errc::malformed);
  CHECK(from_multibase("f00").error().errc() == Errc::unsupported);
  CHECK(from_multibase("BMY").error().errc() == Errc::unsupported);
  CHECK(from_multibase("kA").error().errc() == Errc::malformed);
}
