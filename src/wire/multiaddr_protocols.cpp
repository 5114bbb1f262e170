#include "grapevine/base/log.hpp"
#include "grapevine/wire/multibase.hpp"
#include "grapevine/wire/text.hpp"
#include "grapevine/wire/varint.hpp"
#include "multiaddr_detail.hpp"

#include <charconv>

namespace grapevine {
namespace {

using enum ValueKind;

constexpr auto protocols = std::to_array<Protocol>({
    {Multiaddr::ip4, "ip4", ip4},
    {Multiaddr::tcp, "tcp", port},
    {Multiaddr::ip6, "ip6", ip6},
    {Multiaddr::ip6zone, "ip6zone", name},
    {Multiaddr::ipcidr, "ipcidr", prefix_length},
    {Multiaddr::dns, "dns", name},
    {Multiaddr::dns4, "dns4", name},
    {Multiaddr::dns6, "dns6", name},
    {Multiaddr::dnsaddr, "dnsaddr", name},
    {Multiaddr::udp, "udp", port},
    {Multiaddr::webrtc_direct, "webrtc-direct", none},
    {Multiaddr::webrtc, "webrtc", none},
    {Multiaddr::p2p_circuit, "p2p-circuit", none},
    {Multiaddr::unix_path, "unix", path},
    {Multiaddr::p2p, "p2p", peer},
    {Multiaddr::tls, "tls", none},
    {Multiaddr::sni, "sni", name},
    {Multiaddr::noise, "noise", none},
    {Multiaddr::quic, "quic", none},
    {Multiaddr::quic_v1, "quic-v1", none},
    {Multiaddr::webtransport, "webtransport", none},
    {Multiaddr::certhash, "certhash", multihash},
    {Multiaddr::ws, "ws", none},
    {Multiaddr::wss, "wss", none},
    {Multiaddr::http, "http", none},
    {Multiaddr::memory, "memory", name},
});

bool is_name(ByteView value) {
  return !value.empty() && is_printable_utf8(as_text(value)) &&
         std::ranges::find(value, '/') == value.end();
}

// A '/' at the end would be lost in the text of the address.
bool is_path(ByteView value) {
  return value.size() > 1 && value.front() == '/' && value.back() != '/' &&
         is_printable_utf8(as_text(value));
}

bool is_multihash(ByteView value) {
  auto const code = decode_varint(value);
  if (!code.has_value()) return false;
  auto const rest = value.subspan(code->size);
  auto const length = decode_varint(rest);
  return length.has_value() && length->value > 0 && length->value == rest.size() - length->size;
}

tl::unexpected<Error> bad_value(Protocol const& protocol, std::string_view text) {
  return fail(Errc::malformed,
              "/" + std::string(protocol.name) + " with the value '" + printable(text, 64) + "'");
}

Result<std::uint32_t> parse_decimal(Protocol const& protocol, std::string_view text,
                                    std::uint32_t max) {
  std::uint32_t number = 0;
  auto const* const end = text.data() + text.size();
  auto const parsed = std::from_chars(text.data(), end, number);
  if (parsed.ec != std::errc() || parsed.ptr != end || number > max)
    return bad_value(protocol, text);
  return number;
}

Result<Bytes> parse_ip(Protocol const& protocol, std::string_view text) {
  auto const ip = IpAddress::parse(text);
  if (!ip.has_value() || ip->is_v6 != (protocol.kind == ip6)) return bad_value(protocol, text);
  return Bytes(ip->bytes.begin(), ip->bytes.begin() + (ip->is_v6 ? 16 : 4));
}

std::string ip_text(ByteView value) {
  IpAddress ip;
  ip.is_v6 = value.size() == 16;
  std::ranges::copy(value, ip.bytes.begin());
  return ip.text();
}

}  // namespace

std::optional<std::size_t> Protocol::fixed_size() const {
  switch (kind) {
    case ValueKind::none:
      return 0;
    case ValueKind::ip4:
      return 4;
    case ValueKind::ip6:
      return 16;
    case ValueKind::prefix_length:
      return 1;
    case ValueKind::port:
      return 2;
    case ValueKind::name:
    case ValueKind::path:
    case ValueKind::peer:
    case ValueKind::multihash:
      break;
  }
  return std::nullopt;
}

Protocol const* find_protocol(std::uint64_t code) {
  auto const* const found = std::ranges::find(protocols, code, &Protocol::code);
  return found == protocols.end() ? nullptr : found;
}

Protocol const* find_protocol(std::string_view name) {
  if (name == "ipfs") name = "p2p";  // an old name, read but never written
  auto const* const found = std::ranges::find(protocols, name, &Protocol::name);
  return found == protocols.end() ? nullptr : found;
}

Result<> check_value(Protocol const& protocol, ByteView value) {
  bool good = true;
  if (protocol.kind == name) good = is_name(value);
  if (protocol.kind == path) good = is_path(value);
  if (protocol.kind == peer) good = PeerId::from_bytes(value).has_value();
  if (protocol.kind == multihash) good = is_multihash(value);
  if (!good) return bad_value(protocol, as_text(value));
  return {};
}

std::string value_text(ValueKind kind, ByteView value) {
  switch (kind) {
    case none:
      return {};
    case ip4:
    case ip6:
      return ip_text(value);
    case prefix_length:
      return std::to_string(value[0]);
    case port:
      return std::to_string(read_be<std::uint16_t>(value));
    case name:
    case path:
      return std::string(as_text(value));
    case peer:
      return PeerId::from_bytes(value).value().text();
    case multihash:
      return to_multibase(Multibase::base64url, value);
  }
  return {};
}

Result<Bytes> parse_value(Protocol const& protocol, std::string_view text) {
  switch (protocol.kind) {
    case none:
      return Bytes{};
    case ip4:
    case ip6:
      return parse_ip(protocol, text);
    case prefix_length: {
      TRY_ASSIGN(auto const number, parse_decimal(protocol, text, 0xff));
      return Bytes{static_cast<std::uint8_t>(number)};
    }
    case port: {
      TRY_ASSIGN(auto const number, parse_decimal(protocol, text, 0xffff));
      Bytes value;
      append_be(value, static_cast<std::uint16_t>(number));
      return value;
    }
    case name:
    case path: {
      auto const value = as_bytes(text);
      return Bytes(value.begin(), value.end());
    }
    case peer: {
      TRY_ASSIGN(auto const id, PeerId::parse(text));
      return Bytes(id.bytes().begin(), id.bytes().end());
    }
    case multihash:
      return from_multibase(text);
  }
  return bad_value(protocol, text);
}

}  // namespace grapevine
