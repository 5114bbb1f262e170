#include "grapevine/base/base32.hpp"

namespace grapevine {
namespace {

constexpr std::string_view digits = "abcdefghijklmnopqrstuvwxyz234567";

}  // namespace

std::string to_base32(ByteView bytes) {
  std::string text;
  text.reserve((bytes.size() * 8 + 4) / 5);
  std::uint32_t pending = 0;
  int bits = 0;
  for (auto const byte : bytes) {
    pending = pending << 8 | byte;
    for (bits += 8; bits >= 5; bits -= 5) text += digits[pending >> (bits - 5) & 31];
  }
  if (bits > 0) text += digits[pending << (5 - bits) & 31];
  return text;
}

Result<Bytes> from_base32(std::string_view text) {
  Bytes bytes;
  bytes.reserve(text.size() * 5 / 8);
  std::uint32_t pending = 0;
  int bits = 0;
  for (char const c : text) {
    auto const digit = digits.find(c);
    if (digit == std::string_view::npos) return fail(Errc::malformed, "not a base32 digit");
    pending = pending << 5 | static_cast<std::uint32_t>(digit);
    bits += 5;
    if (bits < 8) continue;
    bits -= 8;
    bytes.push_back(static_cast<std::uint8_t>(pending >> bits));
  }
  std::uint32_t const stray = pending & ((1U << bits) - 1);
  if (bits >= 5 || stray != 0) return fail(Errc::malformed, "stray bits at the end of base32 text");
  return bytes;
}

}  // namespace grapevine
