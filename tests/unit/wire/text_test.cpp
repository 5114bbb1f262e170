#include "grapevine/wire/text.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace grapevine;

TEST_CASE("printable text is UTF-8 without control characters") {
  for (auto const* text :
       {"", "a b~", "\xc2\xa0", "gr\xc3\xbc\xc3\x9f", "\xe2\x82\xac", "\xed\x9f\xbf",
        "\xee\x80\x80", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"}) {
    CAPTURE(text);
    CHECK(is_printable_utf8(text));
  }
  CHECK_FALSE(is_printable_utf8(std::string_view("\0", 1)));
  for (auto const* text : {"\x1f", "\n", "\x7f", "\x1b[2J",              // C0 and DEL
                           "\xc2\x80", "\xc2\x9f",                       // C1
                           "\x80", "\xff", "\xc3", "\xe2\x82", "\xc3(",  // broken sequences
                           "\xc0\xaf", "\xc1\xbf", "\xe0\x80\xaf", "\xf0\x8f\xbf\xbf",  // overlong
                           "\xed\xa0\x80", "\xed\xbf\xbf",             // surrogates
                           "\xf4\x90\x80\x80", "\xf5\x80\x80\x80"}) {  // over U+10FFFF
    CAPTURE(text);
    CHECK_FALSE(is_printable_utf8(text));
  }
}

TEST_CASE("the printable beginning of a text cuts no character and keeps its limit") {
  CHECK(printable_utf8("gone", 128) == "gone");
  CHECK(printable_utf8("a\x1b[2J\xff"
                       "b",
                       128) == "a?[2J?b");
  CHECK(printable_utf8("ab\xe2\x82\xac", 4) == "ab");
  CHECK(printable_utf8("ab\xe2\x82\xac", 5) == "ab\xe2\x82\xac");
  CHECK(printable_utf8("\xe2\x82", 128) == "??");
  CHECK(printable_utf8("ab", 0).empty());
}
