// What `grapevine up` was asked to do, checked as far as it can be without a network. A value.
#pragma once

#include "grapevine/node/node.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace grapevine {

struct UpOptions {
  std::string home;
  std::string data;
  NodeOptions node;  // all but make_trainer
  Endpoint status{IpAddress::v4(127, 0, 0, 1), 8080};
  bool status_chosen = false;  // by the person: then another port would be a surprise
  std::string device = "auto";
  std::uint32_t threads = 0;  // 0: all
  bool json = false;
  bool verbose = false;
  std::optional<int> parent;  // this process must not outlive that one
};

// The options, or the exit code: help was printed, or the command line is wrong.
[[nodiscard]] std::variant<UpOptions, int> parse_up_options(int argc, char** argv);

}  // namespace grapevine
