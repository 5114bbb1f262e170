#include "grapevine/base/limits.hpp"
#include "radix_detail.hpp"

#include <algorithm>

namespace grapevine {
namespace {

// number = number * factor + addend, least significant place first.
void multiply_add(Bytes& number, std::uint32_t radix, std::uint32_t factor, std::uint32_t addend) {
  for (auto& place : number) {
    addend += place * factor;
    place = static_cast<std::uint8_t>(addend % radix);
    addend /= radix;
  }
  for (; addend > 0; addend /= radix) number.push_back(static_cast<std::uint8_t>(addend % radix));
}

}  // namespace

std::string to_radix(Radix const& radix, ByteView bytes) {
  auto const first = std::ranges::find_if(bytes, [](auto byte) { return byte != 0; });
  auto const zeros = static_cast<std::size_t>(first - bytes.begin());
  Bytes places;
  auto const size = static_cast<std::uint32_t>(radix.digits.size());
  for (auto const byte : bytes.subspan(zeros)) multiply_add(places, size, 256, byte);
  std::string text(zeros, radix.digits.front());
  for (auto place = places.rbegin(); place != places.rend(); ++place) text += radix.digits[*place];
  return text;
}

Result<Bytes> from_radix(Radix const& radix, std::string_view text) {
  if (text.size() > limits::base58_text_max)
    return fail(Errc::oversize, std::string(radix.name) + " text of " +
                                    std::to_string(text.size()) + " characters");
  auto const zeros = std::min(text.find_first_not_of(radix.digits.front()), text.size());
  Bytes number;
  auto const size = static_cast<std::uint32_t>(radix.digits.size());
  for (char const c : text.substr(zeros)) {
    auto const digit = radix.digits.find(c);
    if (digit == std::string_view::npos)
      return fail(Errc::malformed, "not a " + std::string(radix.name) + " digit");
    multiply_add(number, 256, size, static_cast<std::uint32_t>(digit));
  }
  number.insert(number.end(), zeros, 0);
  std::ranges::reverse(number);
  return number;
}

}  // namespace grapevine
