// What every command shares: parsing with messages that name the flag and the closest valid one,
// and how an Error ends the program. Results go to standard output, everything else to standard
// error. Main thread only.
#pragma once

#include "grapevine/base/error.hpp"
#include "grapevine/base/result.hpp"
#include "grapevine/tensor/model_config.hpp"
#include "grapevine/wire/multiaddr.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace grapevine {

// Nothing when the command may go on; otherwise its exit code: help was printed, or a usage error.
std::optional<int> parse_arguments(CLI::App& app, int argc, char** argv);

// Prints the error with its cause and fix, and gives its exit code. With `json` also as one JSON
// object on standard output.
int end_with(Error const& error, bool json = false);
int end_with_usage(std::string_view text);

// The candidate that a person may have meant; empty when none is near.
[[nodiscard]] std::string closest(std::string_view word, std::span<std::string const> candidates);

// Errc::usage names the option and the text.
[[nodiscard]] Result<std::vector<Multiaddr>> parse_addresses(std::string_view option,
                                                             std::span<std::string const> texts);
[[nodiscard]] Result<ModelConfig> parse_preset(std::string_view option, std::string_view name);
[[nodiscard]] Result<Endpoint> parse_endpoint(std::string_view option, std::string_view text);

}  // namespace grapevine
