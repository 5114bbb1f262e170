#include "grapevine/base/amount.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>

namespace grapevine {
namespace {

constexpr double amount_max = static_cast<double>(1ULL << 60);

struct Prefix {
  std::string_view text;
  double factor;
};
// The longer ones first: "Ki" begins as "K" does.
constexpr std::array prefixes{Prefix{"Ki", 1024.0},
                              Prefix{"Mi", 1024.0 * 1024},
                              Prefix{"Gi", 1024.0 * 1024 * 1024},
                              Prefix{"Ti", 1024.0 * 1024 * 1024 * 1024},
                              Prefix{"k", 1e3},
                              Prefix{"K", 1e3},
                              Prefix{"M", 1e6},
                              Prefix{"G", 1e9},
                              Prefix{"T", 1e12},
                              Prefix{"", 1.0}};

// Bytes of one unit: a prefix, then B or, where bits are meant, bit.
std::optional<double> unit_of(std::string_view text, bool bits_too) {
  for (auto const& prefix : prefixes) {
    if (!text.starts_with(prefix.text)) continue;
    auto const unit = text.substr(prefix.text.size());
    if (unit == "B") return prefix.factor;
    if (bits_too && (unit == "bit" || unit == "bits")) return prefix.factor / 8;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> parse(std::string_view text, bool bits_too) {
  double number = 0;
  auto const [rest, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
  if (text.starts_with(' ')) text.remove_prefix(1);
  auto const unit = unit_of(text, bits_too);
  if (!unit) return std::nullopt;
  double const bytes = std::floor(number * *unit);
  if (!(bytes >= 1 && bytes <= amount_max)) return std::nullopt;
  return static_cast<std::uint64_t>(bytes);
}

}  // namespace

Result<std::uint64_t> parse_bytes(std::string_view text) {
  if (auto const bytes = parse(text, false)) return *bytes;
  return fail(Errc::usage,
              std::string(text) + ": not an amount of bytes such as 200GB, 1.5TB or 700MiB");
}

Result<std::uint64_t> parse_byte_rate(std::string_view text) {
  auto const amount = text.ends_with("/s") ? text.substr(0, text.size() - 2) : text;
  if (auto const bytes = parse(amount, true)) return *bytes;
  return fail(Errc::usage, std::string(text) +
                               ": not a rate such as 500kB, 2MB (bytes a second) or 4Mbit (bits)");
}

}  // namespace grapevine
