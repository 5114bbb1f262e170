#include "app/command_line.hpp"
#include "app/commands.hpp"

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cctype>

namespace grapevine {

namespace {

char upper(char c) { return static_cast<char>(std::toupper(static_cast<unsigned char>(c))); }

void print(Explanation const& row) {
  fmt::print("{} {}\n  cause: {}\n  fix: {}\n  exit code: {}\n", row.code, row.title, row.cause,
             row.fix, static_cast<int>(row.exit));
}

}  // namespace

int explain_command(int argc, char** argv) {
  CLI::App app{
      "Prints cause and fix of an error code, or the list of all codes.\n\n"
      "  grapevine explain GV-NET-001",
      "grapevine explain"};
  std::string code;
  app.add_option("CODE", code, "a code such as GV-NET-001");
  if (auto const exit = parse_arguments(app, argc, argv)) return *exit;

  if (code.empty()) {
    for (auto const& row : all_explanations()) fmt::print("{:<12} {}\n", row.code, row.title);
    return 0;
  }
  std::ranges::transform(code, code.begin(), upper);
  if (auto const row = explain(std::string_view(code))) {
    print(*row);
    return 0;
  }
  std::vector<std::string> codes;
  for (auto const& row : all_explanations()) codes.emplace_back(row.code);
  auto const meant = closest(code, codes);
  return end_with_usage(fmt::format("there is no code {}{}", code,
                                    meant.empty() ? "" : "; did you mean " + meant + "?"));
}

}  // namespace grapevine
