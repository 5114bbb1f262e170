// The home directory as the commands see it: where it is by default, and what can be read from it
// while a peer runs there (a FileStorage would take its lock).
#pragma once

#include "grapevine/crypto/identity.hpp"
#include "grapevine/runtime/file_storage.hpp"

#include <memory>
#include <string>

namespace grapevine {

// $XDG_DATA_HOME/grapevine, or ~/.local/share/grapevine.
[[nodiscard]] std::string default_home();
// Makes the folders above it, too, and checks that there is room to work in.
[[nodiscard]] Result<std::unique_ptr<FileStorage>> open_home(std::string const& home);
// Errc::not_a_home: there is no such folder.
[[nodiscard]] Result<> check_home(std::string const& home);
// Errc::not_a_home where no peer has run yet, Errc::key_file_corrupt.
[[nodiscard]] Result<Identity> read_identity(std::string const& home);
[[nodiscard]] Result<std::string> read_text_file(std::string const& path, std::size_t bytes_max);

// HOME/status.addr: the host and port of the status page of the peer that runs there now.
inline constexpr char const* status_address_path = "status.addr";

}  // namespace grapevine
