#include "grapevine/base/log.hpp"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>

namespace grapevine {
namespace {

std::atomic<LogLevel> level_now{LogLevel::info};

spdlog::logger& logger() {
  static auto const instance = [] {
    auto made = std::make_shared<spdlog::logger>(
        "grapevine", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
    made->set_level(spdlog::level::trace);
    made->set_pattern("%Y-%m-%dT%H:%M:%S.%e %^%l%$ %v");
    return made;
  }();
  return *instance;
}

spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::trace:
      return spdlog::level::trace;
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warn:
      return spdlog::level::warn;
    case LogLevel::error:
      return spdlog::level::err;
    case LogLevel::off:
      return spdlog::level::off;
  }
  return spdlog::level::off;
}

}  // namespace

void set_log_level(LogLevel level) { level_now = level; }
LogLevel log_level() { return level_now; }
void log_line(LogLevel level, std::string_view line) { logger().log(to_spdlog(level), "{}", line); }

std::string printable(std::string_view text, std::size_t max) {
  std::string safe(text.substr(0, max));
  for (char& c : safe)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return safe;
}

}  // namespace grapevine
