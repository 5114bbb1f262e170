#include "app/pause_words.hpp"

#include "grapevine/base/log.hpp"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <ctime>

namespace grapevine {
namespace {

std::string local_time(std::uint64_t unix_s) {
  auto const at = static_cast<std::time_t>(unix_s);
  std::tm parts{};
  char text[32] = "?";
  if (::localtime_r(&at, &parts) != nullptr)
    (void)std::strftime(text, sizeof text, "%Y-%m-%d %H:%M", &parts);
  return text;
}

}  // namespace

std::string pause_words(std::string_view state, Snapshot::Pause const& pause) {
  auto const until =
      pause.until_unix_s ? local_time(*pause.until_unix_s) : std::string("`grapevine resume`");
  auto const why = pause.reason == "asked" ? std::string() : " (" + pause.reason + ")";
  return fmt::format("{} until {}{}.", state == "paused" ? "Paused" : "Pauses after this round,",
                     until, why);
}

std::string pause_words(nlohmann::json const& status) {
  auto const state = status.at("state").get<std::string>();
  auto const& pause = status.at("pause");
  if (pause.is_null()) return fmt::format("Takes part: {}.", printable(state, 16));
  Snapshot::Pause known{printable(pause.at("reason").get<std::string>()), {}};
  if (auto const& until = pause.at("until_unix_s"); !until.is_null())
    known.until_unix_s = until.get<std::uint64_t>();
  return pause_words(state, known);
}

}  // namespace grapevine
