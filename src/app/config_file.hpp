// The file of `--config`, looked at again after it was parsed: to tell which line is wrong.
#pragma once

#include "grapevine/base/error.hpp"

#include <optional>
#include <span>
#include <string_view>

namespace CLI {
class App;
}

namespace grapevine {

// What makes parsing `app` fail with `complaint`, where that is a line of its configuration file:
// Errc::config_invalid names the file, the line and the key. Nothing where the arguments are wrong.
[[nodiscard]] std::optional<Error> config_fault(CLI::App const& app, std::string_view complaint,
                                                std::span<char* const> arguments);

// A value in the configuration file that is empty, or opened and not closed: the parser takes it as
// it stands.
[[nodiscard]] std::optional<Error> value_fault_in_config(CLI::App const& app);

}  // namespace grapevine
