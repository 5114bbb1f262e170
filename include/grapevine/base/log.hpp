// Log lines to standard error. One process-wide sink, set once in main; any thread.
// Text from peers must go through `printable()` first.
#pragma once

#include <fmt/core.h>

#include <string>
#include <string_view>

namespace grapevine {

enum class LogLevel { trace, debug, info, warn, error, off };

void set_log_level(LogLevel level);
[[nodiscard]] LogLevel log_level();
void log_line(LogLevel level, std::string_view line);

template <class... Args>
void log(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  if (level >= log_level()) log_line(level, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void log_debug(fmt::format_string<Args...> format, Args&&... args) {
  log(LogLevel::debug, format, std::forward<Args>(args)...);
}
template <class... Args>
void log_info(fmt::format_string<Args...> format, Args&&... args) {
  log(LogLevel::info, format, std::forward<Args>(args)...);
}
template <class... Args>
void log_warn(fmt::format_string<Args...> format, Args&&... args) {
  log(LogLevel::warn, format, std::forward<Args>(args)...);
}
template <class... Args>
void log_error(fmt::format_string<Args...> format, Args&&... args) {
  log(LogLevel::error, format, std::forward<Args>(args)...);
}

// Bytes from a peer made safe for a terminal: control characters become '?', at most `max` bytes.
[[nodiscard]] std::string printable(std::string_view text, std::size_t max = 256);

}  // namespace grapevine
