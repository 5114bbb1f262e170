// IP addresses and TCP endpoints as plain values: what the Network door dials and listens on.
#pragma once

#include "grapevine/base/result.hpp"

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace grapevine {

struct IpAddress {
  // IPv4 in the first four bytes, the rest zero; network byte order.
  std::array<std::uint8_t, 16> bytes{};
  bool is_v6 = false;

  auto operator<=>(IpAddress const&) const = default;
  [[nodiscard]] static Result<IpAddress> parse(std::string_view text);
  [[nodiscard]] static IpAddress v4(std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t d);
  [[nodiscard]] std::string text() const;  // dotted quad, or RFC 5952
  [[nodiscard]] bool is_loopback() const;
  [[nodiscard]] bool is_unspecified() const;
  [[nodiscard]] bool is_private() const;  // RFC 1918, RFC 4193, link-local
};

struct Endpoint {
  IpAddress ip;
  std::uint16_t port = 0;

  auto operator<=>(Endpoint const&) const = default;
  [[nodiscard]] std::string text() const;  // 1.2.3.4:5 or [::1]:5
};

}  // namespace grapevine
