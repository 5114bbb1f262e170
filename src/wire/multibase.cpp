#include "grapevine/wire/multibase.hpp"

#include "grapevine/base/base32.hpp"
#include "grapevine/wire/base58.hpp"
#include "radix_detail.hpp"

namespace grapevine {
namespace {

constexpr Radix base36 = {"base36", "0123456789abcdefghijklmnopqrstuvwxyz"};
constexpr std::string_view base64_digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view base64url_digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

std::string unpadded_base64(std::string_view digits, ByteView bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  std::uint32_t pending = 0;
  int bits = 0;
  for (auto const byte : bytes) {
    pending = pending << 8 | byte;
    for (bits += 8; bits >= 6; bits -= 6) text += digits[pending >> (bits - 6) & 63];
  }
  if (bits > 0) text += digits[pending << (6 - bits) & 63];
  return text;
}

Result<Bytes> from_unpadded_base64(std::string_view digits, std::string_view text) {
  Bytes bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  std::uint32_t pending = 0;
  int bits = 0;
  for (char const c : text) {
    auto const digit = digits.find(c);
    if (digit == std::string_view::npos) return fail(Errc::malformed, "not a base64 digit");
    pending = pending << 6 | static_cast<std::uint32_t>(digit);
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes.push_back(static_cast<std::uint8_t>(pending >> bits));
  }
  std::uint32_t const stray = pending & ((1U << bits) - 1);
  if (bits >= 6 || stray != 0) return fail(Errc::malformed, "stray bits at the end of base64 text");
  return bytes;
}

std::string digits_of(Multibase base, ByteView bytes) {
  switch (base) {
    case Multibase::base32:
      return to_base32(bytes);
    case Multibase::base36:
      return to_radix(base36, bytes);
    case Multibase::base58:
      return to_base58(bytes);
    case Multibase::base64url:
      return unpadded_base64(base64url_digits, bytes);
  }
  return {};
}

}  // namespace

std::string to_multibase(Multibase base, ByteView bytes) {
  return static_cast<char>(base) + digits_of(base, bytes);
}

Result<Bytes> from_multibase(std::string_view text) {
  if (text.empty()) return fail(Errc::malformed, "empty multibase text");
  auto const digits = text.substr(1);
  switch (static_cast<Multibase>(text.front())) {
    case Multibase::base32:
      return from_base32(digits);
    case Multibase::base36:
      return from_radix(base36, digits);
    case Multibase::base58:
      return from_base58(digits);
    case Multibase::base64url:
      return from_unpadded_base64(base64url_digits, digits);
  }
  return fail(Errc::unsupported, "multibase text in none of the bases b, k, z and u");
}

std::string to_base64(ByteView bytes) {
  std::string text = unpadded_base64(base64_digits, bytes);
  text.append((4 - text.size() % 4) % 4, '=');
  return text;
}

Result<Bytes> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return fail(Errc::malformed, "base64 text of a broken length");
  for (int pads = 0; pads < 2 && text.ends_with('='); ++pads) text.remove_suffix(1);
  return from_unpadded_base64(base64_digits, text);
}

}  // namespace grapevine
