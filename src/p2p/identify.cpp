#include "grapevine/p2p/identify.hpp"

#include "grapevine/base/limits.hpp"
#include "grapevine/wire/protobuf.hpp"

#include <algorithm>

namespace grapevine::identify {
namespace {

using protobuf::WireType;

enum FieldNumber : std::uint32_t {
  public_key = 1,
  listen_addresses = 2,
  protocols = 3,
  observed_address = 4,
  protocol_version = 5,
  agent_version = 6,
};

// Tag, length, content: all our fields are shorter than 16 KiB.
std::size_t field_bytes(std::size_t content) { return content + (content < 0x80 ? 2 : 3); }

void add_listen(Message& into, ByteView bytes) {
  if (into.listen.size() >= limits::identify_addresses_max) return;
  auto address = Multiaddr::from_bytes(bytes);
  if (!address) return;  // one we do not understand says nothing about the others
  if (std::find(into.listen.begin(), into.listen.end(), *address) == into.listen.end())
    into.listen.push_back(*std::move(address));
}

void add_protocol(Message& into, ByteView bytes) {
  if (into.protocols.size() >= limits::identify_protocols_max) return;
  if (bytes.size() > limits::identify_protocol_name_max) return;
  auto const name = as_text(bytes);
  if (std::find(into.protocols.begin(), into.protocols.end(), name) == into.protocols.end())
    into.protocols.emplace_back(name);
}

void merge_field(Message& into, protobuf::Field const& field) {
  if (field.type != WireType::bytes) return;
  switch (field.number) {
    case public_key:
      if (field.bytes.size() <= limits::public_key_bytes_max)
        into.public_key.assign(field.bytes.begin(), field.bytes.end());
      break;
    case listen_addresses:
      add_listen(into, field.bytes);
      break;
    case protocols:
      add_protocol(into, field.bytes);
      break;
    case observed_address:
      if (auto address = Multiaddr::from_bytes(field.bytes)) into.observed = *std::move(address);
      break;
    case protocol_version:
      into.protocol_version = as_text(field.bytes).substr(0, limits::identify_agent_max);
      break;
    case agent_version:
      into.agent_version = as_text(field.bytes).substr(0, limits::identify_agent_max);
      break;
    default:
      break;  // signed peer records and whatever comes later
  }
}

}  // namespace

Bytes encode(Message const& message) {
  protobuf::Writer writer;
  std::size_t left = limits::identify_sent_max - 2;  // its length prefix
  auto const put = [&](std::uint32_t number, ByteView content) {
    if (content.empty() || field_bytes(content.size()) > left) return;
    left -= field_bytes(content.size());
    writer.bytes(number, content);
  };
  auto const agent = message.agent_version.substr(0, limits::identify_agent_max);
  auto const version = message.protocol_version.substr(0, limits::identify_agent_max);
  put(public_key, message.public_key);
  put(protocol_version, as_bytes(version));
  put(agent_version, as_bytes(agent));
  if (message.observed) put(observed_address, message.observed->bytes());
  for (auto const& name : message.protocols) put(protocols, as_bytes(name));
  for (auto const& address : message.listen) put(listen_addresses, address.bytes());
  return writer.take();
}

Result<> merge(Message& into, ByteView message) {
  protobuf::Reader reader(message);
  while (true) {
    TRY_ASSIGN(auto const field, reader.next());
    if (!field) return {};
    merge_field(into, *field);
  }
}

}  // namespace grapevine::identify
