#include "app/config_file.hpp"

#include "app/command_line.hpp"
#include "grapevine/base/log.hpp"

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <fstream>

namespace grapevine {
namespace {

struct Line {
  std::size_t number;
  std::string key;
  std::string_view fault;  // of its value, which the parser would take as it stands
};

// Nothing at all, or a quote or a bracket that is opened and not closed, on this line.
std::string_view value_fault(std::string_view value) {
  if (value.empty()) return "there is no value; leave the line out for the default";
  bool const quoted = value.front() == '"' || value.front() == '\'';
  if (quoted && value.find(value.front(), 1) == std::string_view::npos)
    return "the text is not closed";
  return value == "[" ? "the list is not closed on its line" : "";
}

// The lines that set something; a section is a key that no command has.
std::vector<Line> lines_of(std::string const& path) {
  std::vector<Line> lines;
  std::ifstream file(path);
  std::string text;
  bool in_list = false;
  for (std::size_t number = 1; std::getline(file, text); ++number) {
    CLI::detail::trim(text);
    bool const ends_list = text.ends_with(']');
    if (in_list) {
      in_list = !ends_list;
      continue;
    }
    if (text.empty() || text.starts_with('#') || text.starts_with(';')) continue;
    auto const equals = text.find('=');
    auto key = CLI::detail::trim_copy(text.substr(0, equals));
    lines.push_back({number, CLI::detail::remove_quotes(key), ""});
    if (equals == std::string::npos) continue;
    auto const value = CLI::detail::trim_copy(text.substr(equals + 1));
    lines.back().fault = value_fault(value);
    in_list = value.size() > 1 && value.starts_with('[') && !ends_list;  // as the parser sees it
  }
  if (in_list) lines.back().fault = "the list is not closed";
  return lines;
}

std::optional<std::string> path_of_config(CLI::App const& app) {
  auto const* const config = app.get_config_ptr();
  if (config == nullptr || config->count() == 0) return std::nullopt;
  return config->results().front();
}

std::vector<std::string> keys_of(CLI::App const& app) {
  std::vector<std::string> keys;
  for (auto const* option : app.get_options())
    for (auto const& name : option->get_lnames()) keys.push_back(name);
  return keys;
}

Error fault_of(std::string const& path, Line const& line, std::string_view what) {
  return Error(Errc::config_invalid,
               fmt::format("{}:{}: {}: {}", path, line.number, printable(line.key, 64), what));
}

}  // namespace

std::optional<Error> config_fault(CLI::App const& app, std::string_view complaint,
                                  std::span<char* const> arguments) {
  auto const path = path_of_config(app);
  if (!path) return std::nullopt;
  auto const lines = lines_of(*path);
  auto const keys = keys_of(app);
  for (auto const& line : lines) {
    if (std::ranges::find(keys, line.key) != keys.end()) continue;
    auto const meant = closest(line.key, keys);
    return fault_of(*path, line,
                    "no such option" + (meant.empty() ? "" : "; did you mean " + meant + "?"));
  }
  for (auto const& line : lines) {
    auto const option = "--" + line.key;
    auto const same = [&](std::string_view argument) { return argument.starts_with(option); };
    if (complaint.find(option) == std::string_view::npos) continue;
    if (std::ranges::none_of(arguments, same)) return fault_of(*path, line, complaint);
  }
  return std::nullopt;
}

std::optional<Error> value_fault_in_config(CLI::App const& app) {
  auto const path = path_of_config(app);
  if (!path) return std::nullopt;
  for (auto const& line : lines_of(*path))
    if (!line.fault.empty()) return fault_of(*path, line, line.fault);
  return std::nullopt;
}

}  // namespace grapevine
