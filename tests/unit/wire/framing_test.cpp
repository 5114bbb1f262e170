#include "grapevine/wire/framing.hpp"

#include "unit/hex.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

using namespace grapevine;

TEST_CASE("messages come out as they went in, wherever the stream is cut") {
  CHECK(rc::check("splits", [](std::vector<Bytes> const& messages) {
    Bytes stream;
    for (auto const& message : messages) append_frame(stream, message);
    FrameSplitter splitter(1024);
    std::vector<Bytes> seen;
    for (ByteView rest = stream; !rest.empty();) {
      auto const piece = rest.first(*rc::gen::inRange<std::size_t>(1, rest.size() + 1));
      rest = rest.subspan(piece.size());
      splitter.feed(piece);
      for (auto next = splitter.next(); next.value().has_value(); next = splitter.next())
        seen.emplace_back(next.value()->begin(), next.value()->end());
    }
    RC_ASSERT(seen == messages);
    RC_ASSERT(splitter.empty());
  }));
}

TEST_CASE("a length is held against the cap before its message arrives") {
  CHECK(split_frame(unhex("00"), 0).value().size == 1);
  CHECK(split_frame(unhex("01"), 0).error().errc() == Errc::oversize);
  CHECK(split_frame(unhex("02aabb"), 2).value().message.size() == 2);
  CHECK(split_frame(unhex("03"), 2).error().errc() == Errc::oversize);
  CHECK(split_frame(unhex("02aa"), 2).error().errc() == Errc::truncated);
  CHECK(split_frame({}, 2).error().errc() == Errc::truncated);
  CHECK(split_frame(unhex("ffffffffffffffff7f"), 2).error().errc() == Errc::oversize);
  CHECK(split_frame(unhex("8000"), 2).error().errc() == Errc::malformed);
}

TEST_CASE("a splitter that saw a bad length goes on failing") {
  FrameSplitter splitter(2);
  splitter.feed(unhex("01aa03"));
  CHECK(splitter.next().value().value().size() == 1);
  CHECK(splitter.next().error().errc() == Errc::oversize);
  splitter.feed(unhex("00"));
  CHECK(splitter.next().error().errc() == Errc::oversize);
  CHECK_FALSE(splitter.empty());
}
