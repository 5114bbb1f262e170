#include "grapevine/p2p/identify.hpp"

#include "grapevine/base/limits.hpp"
#include "grapevine/wire/protobuf.hpp"

#include <doctest/doctest.h>

using namespace grapevine;

namespace {

Multiaddr address(std::string const& text) { return Multiaddr::parse(text).value(); }

identify::Message sample() {
  identify::Message message;
  message.public_key = Bytes(36, 1);
  message.listen = {address("/ip4/1.2.3.4/tcp/4001"), address("/dns4/example.org/tcp/1")};
  message.observed = address("/ip4/5.6.7.8/tcp/9");
  message.protocols = {"/ipfs/ping/1.0.0", "/ipfs/id/1.0.0"};
  message.protocol_version = "grapevine/1";
  message.agent_version = "grapevine/0.1.0";
  return message;
}

Bytes field(std::uint32_t number, ByteView content) {
  protobuf::Writer writer;
  writer.bytes(number, content);
  return writer.take();
}

}  // namespace

TEST_CASE("a message comes back as it was") {
  identify::Message got;
  CHECK(identify::merge(got, identify::encode(sample())).has_value());
  CHECK(got == sample());
}

TEST_CASE("several messages merge: lists grow, single values are replaced") {
  identify::Message got;
  CHECK(identify::merge(got, identify::encode(sample())).has_value());
  identify::Message more;
  more.protocols = {"/ipfs/ping/1.0.0", "/new"};
  more.protocol_version = "x";
  more.agent_version = "y";
  CHECK(identify::merge(got, identify::encode(more)).has_value());
  CHECK(got.protocols.size() == 3);
  CHECK(got.agent_version == "y");
  CHECK(got.public_key.size() == 36);
}

TEST_CASE("an address of an unknown kind does not spoil the message") {
  auto bytes = identify::encode(sample());
  append(bytes, field(2, Bytes{0xff, 0x7f, 0x01}));
  append(bytes, field(77, as_bytes("something new")));
  identify::Message got;
  CHECK(identify::merge(got, bytes).has_value());
  CHECK(got == sample());
}

TEST_CASE("what we send fits one message that everybody reads") {
  auto message = sample();
  message.listen.clear();
  for (int i = 0; i < 1000; ++i)
    message.listen.push_back(address("/ip4/10.0.0.1/tcp/" + std::to_string(i)));
  auto const bytes = identify::encode(message);
  CHECK(bytes.size() <= limits::identify_sent_max - 2);
  CHECK(bytes.size() > limits::identify_sent_max - 64);
  identify::Message got;
  CHECK(identify::merge(got, bytes).has_value());
  CHECK(got.public_key == message.public_key);
  CHECK(got.protocols == message.protocols);
}

TEST_CASE("lists and names stop at their limits") {
  Bytes bytes;
  for (std::size_t i = 0; i <= limits::identify_protocols_max; ++i)
    append(bytes, field(3, as_bytes("/p/" + std::to_string(i))));
  append(bytes, field(3, Bytes(limits::identify_protocol_name_max + 1, 'x')));
  for (std::size_t i = 0; i <= limits::identify_addresses_max; ++i)
    append(bytes, field(2, address("/ip4/1.1.1.1/tcp/" + std::to_string(i)).bytes()));
  append(bytes, field(6, Bytes(limits::identify_agent_max + 1, 'a')));
  append(bytes, field(1, Bytes(limits::public_key_bytes_max + 1)));
  identify::Message got;
  CHECK(identify::merge(got, bytes).has_value());
  CHECK(got.protocols.size() == limits::identify_protocols_max);
  CHECK(got.listen.size() == limits::identify_addresses_max);
  CHECK(got.agent_version.size() == limits::identify_agent_max);
  CHECK(got.public_key.empty());
}

TEST_CASE("every truncation is an error or says less") {
  auto const bytes = identify::encode(sample());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    identify::Message got;
    if (identify::merge(got, ByteView(bytes).first(size))) CHECK(got != sample());
  }
}
