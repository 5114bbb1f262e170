// Bytes written as hex in a test: unhex("0a26 00ff"), blanks ignored.
#pragma once

#include "grapevine/base/bytes.hpp"

#include <algorithm>
#include <string>

namespace grapevine {

inline Bytes unhex(std::string text) {
  std::erase(text, ' ');
  return from_hex(text).value();
}
template <std::size_t n>
std::array<std::uint8_t, n> unhex_array(std::string text) {
  auto const bytes = unhex(std::move(text));
  std::array<std::uint8_t, n> out{};
  std::copy_n(bytes.begin(), std::min(n, bytes.size()), out.begin());
  return out;
}

}  // namespace grapevine
