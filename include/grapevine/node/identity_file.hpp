// The identity file: HOME/identity.key, the libp2p PrivateKey protobuf, mode 0600.
#pragma once

#include "grapevine/crypto/identity.hpp"
#include "grapevine/runtime/storage.hpp"

namespace grapevine {

// Reads the key, or makes and writes one on a fresh home. Errc::key_file_corrupt leaves the file
// alone.
[[nodiscard]] Result<Identity> load_or_create_identity(Storage& storage, Random& random);
[[nodiscard]] Result<Identity> load_identity(Storage& storage);
[[nodiscard]] Result<> save_identity(Storage& storage, Identity const& identity);

}  // namespace grapevine
