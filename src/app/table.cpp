#include "app/table.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace grapevine {

std::string Table::text() const {
  std::vector<std::size_t> widths(rows_.front().size());
  for (auto const& row : rows_)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  std::string text;
  for (auto const& row : rows_) {
    text += fmt::format("  {:<{}}", row[0], widths[0]);
    for (std::size_t i = 1; i < row.size(); ++i) text += fmt::format("  {:>{}}", row[i], widths[i]);
    text += '\n';
  }
  return text;
}

std::string count_text(std::uint64_t count, std::string_view thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

std::string bytes_text(std::uint64_t bytes) {
  if (bytes < 1000) return fmt::format("{} B", bytes);
  auto value = static_cast<double>(bytes);
  char const* unit = "";
  for (char const* next : {"kB", "MB", "GB", "TB"}) {
    if (value < 1000) break;
    value /= 1000;
    unit = next;
  }
  return fmt::format("{:.1f} {}", value, unit);
}

}  // namespace grapevine
