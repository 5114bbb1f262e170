#include "app/command_line.hpp"

#include "app/config_file.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <numeric>

namespace grapevine {

namespace {

// Levenshtein's distance, one row at a time.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      auto const replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

std::string unexpected_argument(CLI::App const& app) {
  auto const extras = app.remaining();
  std::string word = extras.empty() ? std::string() : extras.front();
  for (auto const& extra : extras)
    if (extra.starts_with('-')) {
      word = extra.substr(0, extra.find('='));
      break;
    }
  std::vector<std::string> known;
  for (auto const* option : app.get_options())
    for (auto const& name : option->get_lnames()) known.push_back("--" + name);
  for (auto const* subcommand : app.get_subcommands([](CLI::App const*) { return true; }))
    known.push_back(subcommand->get_name());
  auto const meant = closest(word, known);
  return fmt::format("{} does not know {}{}", app.get_name(), word,
                     meant.empty() ? "" : "; did you mean " + meant + "?");
}

}  // namespace

std::optional<int> parse_arguments(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
    if (auto const fault = value_fault_in_config(app)) return end_with(*fault);
    return std::nullopt;
  } catch (CLI::Success const& help) {
    return app.exit(help);
  } catch (CLI::ParseError const& error) {
    if (auto const fault = value_fault_in_config(app)) return end_with(*fault);
    if (auto const fault = config_fault(app, error.what(), {argv, argv + argc}))
      return end_with(*fault);
    // An unknown option is most likely a misspelt one: that comes before what is missing.
    if (!app.remaining().empty()) return end_with_usage(unexpected_argument(app));
    return end_with_usage(fmt::format("{}: {}", app.get_name(), error.what()));
  }
}

int end_with(Error const& error, bool json) {
  auto const& row = explain(error.errc());
  fmt::print(stderr, "{}\n", error.message());
  // A usage error says itself which word is wrong and why.
  if (error.errc() != Errc::usage) fmt::print(stderr, "  cause: {}\n", row.cause);
  fmt::print(stderr, "  fix: {}\n", row.fix);
  if (json) {
    nlohmann::ordered_json const object{{"error",
                                         {{"code", row.code},
                                          {"message", error.message()},
                                          {"cause", row.cause},
                                          {"fix", row.fix}}}};
    auto const replace = nlohmann::ordered_json::error_handler_t::replace;
    fmt::print("{}\n", object.dump(-1, ' ', false, replace));
  }
  return static_cast<int>(row.exit);
}

int end_with_usage(std::string_view text) {
  return end_with(Error(Errc::usage, std::string(text)));
}

std::string closest(std::string_view word, std::span<std::string const> candidates) {
  std::string best;
  auto best_distance = std::max<std::size_t>(2, word.size() / 2) + 1;
  for (auto const& candidate : candidates) {
    auto const d = distance(word, candidate);
    if (d >= best_distance && !(candidate.starts_with(word) && best.empty())) continue;
    best = candidate;
    best_distance = d;
  }
  return best;
}

Result<std::vector<Multiaddr>> parse_addresses(std::string_view option,
                                               std::span<std::string const> texts) {
  std::vector<Multiaddr> addresses;
  for (auto const& text : texts) {
    auto address = Multiaddr::parse(text);
    if (!address)
      return fail(Errc::usage, fmt::format("{} {}: {}", option, text, address.error().message()));
    if (!address->tcp_endpoint() && !address->tcp_name())
      return fail(
          Errc::usage,
          fmt::format("{} {}: not a TCP address such as /ip4/192.168.1.7/tcp/4001", option, text));
    addresses.push_back(std::move(*address));
  }
  return addresses;
}

Result<ModelConfig> parse_preset(std::string_view option, std::string_view name) {
  auto preset = model_preset(name);
  if (preset) return preset;
  return fail(Errc::usage, fmt::format("{} {}: there are {}", option, name,
                                       fmt::join(model_preset_names(), ", ")));
}

Result<Endpoint> parse_endpoint(std::string_view option, std::string_view text) {
  auto const wrong = [&] {
    return fail(
        Errc::usage,
        fmt::format("{} {}: not an IP address and port, such as 127.0.0.1:8080", option, text));
  };
  auto const colon = text.rfind(':');
  if (colon == std::string_view::npos) return wrong();
  auto host = text.substr(0, colon);
  auto const port = text.substr(colon + 1);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  auto const ip = IpAddress::parse(host == "localhost" ? "127.0.0.1" : host);
  Endpoint endpoint;
  auto const [stop, error] = std::from_chars(port.data(), port.data() + port.size(), endpoint.port);
  if (!ip || error != std::errc{} || stop != port.data() + port.size()) return wrong();
  endpoint.ip = *ip;
  return endpoint;
}

}  // namespace grapevine
