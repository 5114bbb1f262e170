// HOME/paused: there while somebody wants this peer to rest. A restart of the machine or of the
// program does not end a pause that a person asked for; only that person does. Blocking.
#pragma once

#include "grapevine/runtime/storage.hpp"

namespace grapevine {

[[nodiscard]] bool pause_is_asked_for(Storage& storage);
Result<> keep_pause(Storage& storage, bool asked_for);

}  // namespace grapevine
