#include "grapevine/wire/multiaddr.hpp"

#include "grapevine/base/assert.hpp"
#include "grapevine/base/limits.hpp"
#include "grapevine/base/log.hpp"
#include "grapevine/wire/varint.hpp"
#include "multiaddr_detail.hpp"

namespace grapevine {
namespace {

struct Taken {
  Protocol const* protocol;
  ByteView value;
  std::size_t size;  // of the whole component
};

// The component that `bytes` starts with.
Result<Taken> take_component(ByteView bytes) {
  TRY_ASSIGN(auto const code, decode_varint(bytes));
  auto const* const protocol = find_protocol(code.value);
  if (protocol == nullptr)
    return fail(Errc::unsupported, "multiaddr code " + std::to_string(code.value));
  std::size_t start = code.size;
  std::uint64_t size = 0;
  if (auto const fixed = protocol->fixed_size()) {
    size = *fixed;
  } else {
    TRY_ASSIGN(auto const length, decode_varint(bytes.subspan(start)));
    start += length.size;
    size = length.value;
  }
  if (size > bytes.size() - start)
    return fail(Errc::malformed, "multiaddr cut short in /" + std::string(protocol->name));
  auto const value = bytes.subspan(start, static_cast<std::size_t>(size));
  TRY(check_value(*protocol, value));
  return Taken{protocol, value, start + value.size()};
}

void append_component(Bytes& out, Protocol const& protocol, ByteView value) {
  append_varint(out, protocol.code);
  if (!protocol.fixed_size().has_value()) append_varint(out, value.size());
  append(out, value);
}

// Cuts off and returns the text up to the next '/'.
std::string_view cut_word(std::string_view& rest) {
  auto const word = rest.substr(0, rest.find('/'));
  rest.remove_prefix(std::min(rest.size(), word.size() + 1));
  return word;
}

// Reads one component off `rest`, which starts behind a '/'.
Result<> parse_component(Bytes& out, std::string_view& rest) {
  auto const word = cut_word(rest);
  auto const* const protocol = find_protocol(word);
  if (protocol == nullptr)
    return fail(Errc::unsupported, "multiaddr protocol '" + printable(word, 64) + "'");
  std::string text;
  if (protocol->kind == ValueKind::path) {
    text = "/" + std::string(rest);
    rest = {};
  } else if (protocol->kind != ValueKind::none) {
    text = cut_word(rest);
  }
  TRY_ASSIGN(auto const value, parse_value(*protocol, text));
  append_component(out, *protocol, value);
  return {};
}

}  // namespace

Result<Multiaddr> Multiaddr::parse(std::string_view text) {
  if (text.size() > limits::multiaddr_text_max)
    return fail(Errc::oversize, "multiaddr of " + std::to_string(text.size()) + " characters");
  if (text.size() < 2 || text.front() != '/' || text.back() == '/')
    return fail(Errc::malformed,
                "not a multiaddr like /ip4/192.0.2.1/tcp/4001: '" + printable(text, 64) + "'");
  Bytes binary;
  for (auto rest = text.substr(1); !rest.empty();) {
    TRY(parse_component(binary, rest));
  }
  return from_bytes(binary);
}

Result<Multiaddr> Multiaddr::from_bytes(ByteView bytes) {
  if (bytes.size() > limits::multiaddr_bytes_max)
    return fail(Errc::oversize, "multiaddr of " + std::to_string(bytes.size()) + " bytes");
  if (bytes.empty()) return fail(Errc::malformed, "empty multiaddr");
  std::size_t count = 0;
  for (auto rest = bytes; !rest.empty();) {
    if (++count > limits::multiaddr_components_max)
      return fail(Errc::oversize, "multiaddr of too many components");
    TRY_ASSIGN(auto const taken, take_component(rest));
    rest = rest.subspan(taken.size);
    // Its text would swallow what follows.
    if (taken.protocol->kind == ValueKind::path && !rest.empty())
      return fail(Errc::malformed, "multiaddr with something behind a path");
  }
  Multiaddr address;
  address.bytes_.assign(bytes.begin(), bytes.end());
  return address;
}

Multiaddr Multiaddr::tcp_address(Endpoint endpoint) {
  Multiaddr address;
  bool const v6 = endpoint.ip.is_v6;
  append_component(address.bytes_, *find_protocol(v6 ? ip6 : ip4),
                   ByteView(endpoint.ip.bytes).first(v6 ? 16 : 4));
  Bytes port;
  append_be(port, endpoint.port);
  append_component(address.bytes_, *find_protocol(tcp), port);
  return address;
}

std::string Multiaddr::text() const {
  std::string out;
  for (auto const& component : components()) {
    auto const* const protocol = find_protocol(component.code);
    out += '/';
    out += protocol->name;
    if (protocol->kind == ValueKind::none) continue;
    if (protocol->kind != ValueKind::path) out += '/';
    out += value_text(protocol->kind, component.value);
  }
  return out;
}

std::vector<Multiaddr::Component> Multiaddr::components() const {
  std::vector<Component> all;
  for (ByteView rest = bytes_; !rest.empty();) {
    auto const taken = take_component(rest);
    ASSERT(taken.has_value());  // from_bytes() let nothing else in
    all.push_back({taken->protocol->code, taken->value});
    rest = rest.subspan(taken->size);
  }
  return all;
}

std::optional<PeerId> Multiaddr::peer() const {
  auto const all = components();
  if (all.empty() || all.back().code != p2p) return std::nullopt;
  return PeerId::from_bytes(all.back().value).value();
}

Multiaddr Multiaddr::without_peer() const {
  Multiaddr address;
  auto const all = components();
  std::size_t const keep = all.size() - (peer().has_value() ? 1 : 0);
  for (auto const& component : std::span(all).first(keep))
    append_component(address.bytes_, *find_protocol(component.code), component.value);
  return address;
}

Multiaddr Multiaddr::with_peer(PeerId const& peer) const {
  ASSERT(!peer.empty());
  Multiaddr address = without_peer();
  append_component(address.bytes_, *find_protocol(p2p), peer.bytes());
  return address;
}

bool Multiaddr::is_circuit() const {
  return std::ranges::any_of(components(), [](auto const& c) { return c.code == p2p_circuit; });
}

std::optional<Endpoint> Multiaddr::tcp_endpoint() const {
  auto const address = without_peer();
  auto const all = address.components();
  if (all.size() != 2 || all[1].code != tcp) return std::nullopt;
  if (all[0].code != ip4 && all[0].code != ip6) return std::nullopt;
  Endpoint endpoint;
  endpoint.ip.is_v6 = all[0].code == ip6;
  std::ranges::copy(all[0].value, endpoint.ip.bytes.begin());
  endpoint.port = read_be<std::uint16_t>(all[1].value);
  return endpoint;
}

std::optional<Multiaddr::TcpName> Multiaddr::tcp_name() const {
  auto const address = without_peer();
  auto const all = address.components();
  if (all.size() != 2 || all[1].code != tcp) return std::nullopt;
  auto const family = all[0].code;
  if (family != dns && family != dns4 && family != dns6) return std::nullopt;
  return TcpName{std::string(as_text(all[0].value)), read_be<std::uint16_t>(all[1].value), family};
}

}  // namespace grapevine
