#include "grapevine/base/bytes.hpp"

namespace grapevine {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::string to_hex(ByteView bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (auto const byte : bytes) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

Result<Bytes> from_hex(std::string_view text) {
  if (text.size() % 2 != 0) return fail(Errc::malformed, "hex text of odd length");
  Bytes bytes;
  bytes.reserve(text.size() / 2);
  for (std::size_t i = 0; i < text.size(); i += 2) {
    int const high = hex_digit(text[i]);
    int const low = hex_digit(text[i + 1]);
    if (high < 0 || low < 0)
      return fail(Errc::malformed, "not a hex digit at " + std::to_string(i));
    bytes.push_back(static_cast<std::uint8_t>(high << 4 | low));
  }
  return bytes;
}

}  // namespace grapevine
