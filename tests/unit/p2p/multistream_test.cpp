#include "grapevine/p2p/multistream.hpp"

#include "grapevine/base/limits.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

using namespace grapevine;
using multistream::Negotiation;

namespace {

constexpr auto header_hex = "132f6d756c746973747265616d2f312e302e300a";

Bytes line(std::string_view text) {
  Bytes out;
  multistream::append_line(out, text);
  return out;
}

Bytes joined(std::vector<std::string_view> const& lines) {
  Bytes out;
  for (auto const text : lines) multistream::append_line(out, text);
  return out;
}

// Feeds as much of `bytes` as the machine wants, in the pieces it wants; returns what is left.
Result<ByteView> feed(Negotiation& machine, ByteView bytes) {
  while (machine.wanted() > 0 && !bytes.empty()) {
    auto const count = std::min(machine.wanted(), bytes.size());
    TRY(machine.receive(bytes.first(count)));
    bytes = bytes.subspan(count);
  }
  return bytes;
}

Negotiation answer(std::string known) {
  return Negotiation::answer([known](std::string_view name) { return name == known; });
}

Errc error_of(Negotiation machine, ByteView bytes) {
  auto const left = feed(machine, bytes);
  REQUIRE_FALSE(left.has_value());
  return left.error().errc();
}

}  // namespace

TEST_CASE("multistream lines have the bytes of the specification") {
  CHECK(to_hex(line(multistream::header)) == header_hex);
  CHECK(to_hex(line("na")) == "036e610a");
  CHECK(to_hex(line("/noise")) == "072f6e6f6973650a");
  CHECK(to_hex(line("/yamux/1.0.0")) == "0d2f79616d75782f312e302e300a");
  CHECK(line("/ipfs/id/push/1.0.0").front() == 0x14);
  CHECK(line(std::string(200, 'x'))[0] == (0x80 | (201 & 0x7f)));
  CHECK(line(std::string(200, 'x'))[1] == 1);
}

TEST_CASE("a proposer speaks first, header and proposal in one write") {
  auto machine = Negotiation::propose({"/noise"});
  CHECK(machine.take_output() == joined({multistream::header, "/noise"}));
  auto const answer_bytes = joined({multistream::header, "/noise"});
  CHECK(feed(machine, answer_bytes).value().empty());
  CHECK(machine.chosen() == "/noise");
  CHECK(machine.wanted() == 0);
}

TEST_CASE("what is glued behind the protocol line is left for the next layer") {
  auto machine = answer("/noise");
  auto bytes = joined({multistream::header, "/noise"});
  append(bytes, as_bytes("early data"));
  CHECK(as_text(feed(machine, bytes).value()) == "early data");
  CHECK(machine.take_output() == joined({multistream::header, "/noise"}));
}

TEST_CASE("unknown proposals and ls are answered na and the next one is heard") {
  auto machine = answer("/noise");
  auto const bytes = joined({multistream::header, "ls", "/tls/1.0.0", "/noise"});
  CHECK(feed(machine, bytes).value().empty());
  CHECK(machine.take_output() == joined({multistream::header, "na", "na", "/noise"}));
}

TEST_CASE("a refused proposer goes down its list, then gives up") {
  auto machine = Negotiation::propose({"/a", "/b"});
  (void)machine.take_output();
  CHECK(feed(machine, joined({multistream::header, "na"})).has_value());
  CHECK(machine.take_output() == line("/b"));
  CHECK_FALSE(machine.chosen());
  auto const left = feed(machine, line("na"));
  CHECK(left.error().errc() == Errc::no_protocol);
}

TEST_CASE("hostile negotiations end with the right error") {
  CHECK(error_of(answer("/a"), from_hex("00").value()) == Errc::malformed);
  CHECK(error_of(answer("/a"), from_hex("8000").value()) == Errc::malformed);
  CHECK(error_of(answer("/a"), from_hex("808001").value()) == Errc::oversize);
  CHECK(error_of(answer("/a"), from_hex("036e6121").value()) == Errc::malformed);
  CHECK(error_of(answer("/a"), line("/a")) == Errc::protocol_violation);
  CHECK(error_of(Negotiation::propose({"/a"}), joined({multistream::header, "/b"})) ==
        Errc::protocol_violation);
}

TEST_CASE("a line may have 1024 bytes and no more") {
  std::string const longest(limits::multistream_message_max - 1, 'x');
  auto machine = answer(longest);
  CHECK(feed(machine, joined({multistream::header, longest})).has_value());
  CHECK(machine.chosen() == longest);
  auto bytes = line(multistream::header);
  append(bytes, Bytes{0x81, 0x08});  // 1025
  CHECK(error_of(answer("/a"), bytes) == Errc::oversize);
}

TEST_CASE("sixteen wrong proposals are enough") {
  auto bytes = line(multistream::header);
  for (std::size_t i = 1; i < limits::multistream_proposals_max; ++i) append(bytes, line("/x"));
  auto machine = answer("/a");
  CHECK(feed(machine, bytes).has_value());
  append(bytes, line("/x"));
  CHECK(error_of(answer("/a"), bytes) == Errc::limit_exceeded);
}

TEST_CASE("two machines agree on the first common protocol") {
  CHECK(rc::check("agreement", [] {
    auto const proposals = *rc::gen::container<std::vector<std::string>>(
        *rc::gen::inRange<std::size_t>(1, 10),
        rc::gen::element<std::string>("/a", "/b", "/c", "/d/1.0.0"));
    auto const known = *rc::gen::element<std::string>("/a", "/b", "/e");
    auto proposer = Negotiation::propose(proposals);
    auto answerer = answer(known);
    bool refused = false;
    for (int i = 0; i < 20 && !refused && !proposer.chosen(); ++i) {
      RC_ASSERT(feed(answerer, proposer.take_output()).has_value());
      refused = !feed(proposer, answerer.take_output()).has_value();
    }
    bool const common = std::find(proposals.begin(), proposals.end(), known) != proposals.end();
    RC_ASSERT(refused == !common);
    if (common) RC_ASSERT(proposer.chosen() == known && answerer.chosen() == known);
  }));
}
