// What `grapevine demo` was asked to do, and how big its parts are. A value.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

namespace grapevine {

struct DemoOptions {
  std::uint32_t peers = 4;
  std::uint64_t rounds = 8;
  std::uint32_t kill = 1;
  std::string data = "/usr/share/games/fortunes";
  std::string preset = "nano";
  std::string method = "diloco";  // of mixing
  std::string codec = "fp32";
  std::string home;        // by default a temporary folder
  bool temporary = false;  // the home is one
  bool json = false;
};

// The options, with a home that exists, or the exit code.
[[nodiscard]] std::variant<DemoOptions, int> parse_demo_options(int argc, char** argv);

}  // namespace grapevine
