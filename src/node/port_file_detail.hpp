// HOME/listen.port: the port that this peer listened on last, as text.
#pragma once

#include "grapevine/runtime/storage.hpp"

#include <cstdint>

namespace grapevine {

// 0 where there is none, or nothing that is a port.
[[nodiscard]] std::uint16_t load_port(Storage& storage);
[[nodiscard]] Result<> save_port(Storage& storage, std::uint16_t port);

}  // namespace grapevine
