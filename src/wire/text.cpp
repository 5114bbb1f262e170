#include "grapevine/wire/text.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace grapevine {
namespace {

// Bytes of the sequence that starts with `first`, and the code point bits in it; 0: none does.
std::size_t sequence_size(std::uint8_t first, std::uint32_t& bits) {
  if (first < 0x80) {
    bits = first;
    return 1;
  }
  if (first >= 0xc2 && first < 0xe0) {
    bits = first & 0x1f;
    return 2;
  }
  if (first >= 0xe0 && first < 0xf0) {
    bits = first & 0x0f;
    return 3;
  }
  if (first >= 0xf0 && first < 0xf5) {
    bits = first & 0x07;
    return 4;
  }
  return 0;
}

bool is_printable(std::uint32_t point, std::size_t size) {
  if (point < 0x20 || (point >= 0x7f && point < 0xa0)) return false;  // C0, DEL, C1
  if (size == 3) return point >= 0x800 && (point < 0xd800 || point > 0xdfff);
  if (size == 4) return point >= 0x10000 && point <= 0x10ffff;
  return true;
}

// Bytes of the character that `text` begins with; 0: none that is printable.
std::size_t printable_size(std::string_view text) {
  std::uint32_t point = 0;
  auto const size = sequence_size(static_cast<std::uint8_t>(text.front()), point);
  if (size == 0 || size > text.size()) return 0;
  for (std::size_t i = 1; i < size; ++i) {
    auto const byte = static_cast<std::uint8_t>(text[i]);
    if ((byte & 0xc0) != 0x80) return 0;
    point = point << 6 | (byte & 0x3f);
  }
  return is_printable(point, size) ? size : 0;
}

}  // namespace

bool is_printable_utf8(std::string_view text) {
  while (!text.empty()) {
    auto const size = printable_size(text);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

std::string printable_utf8(std::string_view text, std::size_t bytes_max) {
  std::string safe;
  while (!text.empty()) {
    auto const size = printable_size(text);
    auto const piece = size == 0 ? std::string_view("?") : text.substr(0, size);
    if (safe.size() + piece.size() > bytes_max) break;
    safe += piece;
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return safe;
}

}  // namespace grapevine
