#include "grapevine/base/endpoint.hpp"

#include <arpa/inet.h>

#include <cstring>

namespace grapevine {

Result<IpAddress> IpAddress::parse(std::string_view text) {
  std::string const copy(text);
  IpAddress ip;
  if (inet_pton(AF_INET, copy.c_str(), ip.bytes.data()) == 1) return ip;
  ip.is_v6 = true;
  if (inet_pton(AF_INET6, copy.c_str(), ip.bytes.data()) == 1) return ip;
  return fail(Errc::malformed, "not an IP address: " + copy);
}

IpAddress IpAddress::v4(std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t d) {
  IpAddress ip;
  ip.bytes = {a, b, c, d};
  return ip;
}

std::string IpAddress::text() const {
  std::array<char, INET6_ADDRSTRLEN> buffer{};
  inet_ntop(is_v6 ? AF_INET6 : AF_INET, bytes.data(), buffer.data(), buffer.size());
  return buffer.data();
}

bool IpAddress::is_loopback() const {
  if (!is_v6) return bytes[0] == 127;
  IpAddress one;
  one.is_v6 = true;
  one.bytes[15] = 1;
  return *this == one;
}

bool IpAddress::is_unspecified() const {
  for (auto const byte : bytes)
    if (byte != 0) return false;
  return true;
}

bool IpAddress::is_private() const {
  if (is_v6) return (bytes[0] & 0xfe) == 0xfc || (bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80);
  return bytes[0] == 10 || (bytes[0] == 172 && (bytes[1] & 0xf0) == 16) ||
         (bytes[0] == 192 && bytes[1] == 168) || (bytes[0] == 169 && bytes[1] == 254);
}

std::string Endpoint::text() const {
  std::string const host = ip.is_v6 ? "[" + ip.text() + "]" : ip.text();
  return host + ":" + std::to_string(port);
}

}  // namespace grapevine
