// The protocols a Multiaddr may hold, and the rules for the value of each: one table for the binary
// and the text form. (multiformats/multiaddr protocols.csv)
#pragma once

#include "grapevine/wire/multiaddr.hpp"

namespace grapevine {

// How a value is written as text, and what it must look like.
enum class ValueKind : std::uint8_t {
  none,
  ip4,
  ip6,
  prefix_length,  // 0 … 255
  port,
  name,  // printable, no '/', not empty
  path,  // starts with '/', takes the rest of the text
  peer,
  multihash,
};

struct Protocol {
  Multiaddr::Code code;
  std::string_view name;
  ValueKind kind;

  // Bytes of the value, or nothing when a length precedes it.
  [[nodiscard]] std::optional<std::size_t> fixed_size() const;
};

[[nodiscard]] Protocol const* find_protocol(std::uint64_t code);
[[nodiscard]] Protocol const* find_protocol(std::string_view name);

[[nodiscard]] Result<> check_value(Protocol const& protocol, ByteView value);
[[nodiscard]] std::string value_text(ValueKind kind, ByteView value);
[[nodiscard]] Result<Bytes> parse_value(Protocol const& protocol, std::string_view text);

}  // namespace grapevine
