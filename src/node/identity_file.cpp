#include "grapevine/node/identity_file.hpp"

namespace grapevine {
namespace {

constexpr std::string_view path = "identity.key";

}  // namespace

Result<Identity> load_identity(Storage& storage) {
  TRY_ASSIGN(Bytes const bytes, storage.read(path));
  auto identity = Identity::from_protobuf(bytes);
  if (!identity)
    return fail(Errc::key_file_corrupt, storage.describe(path) + ": " + identity.error().message());
  return identity;
}

Result<> save_identity(Storage& storage, Identity const& identity) {
  return storage.write_atomic(path, identity.protobuf(), true);
}

Result<Identity> load_or_create_identity(Storage& storage, Random& random) {
  if (storage.exists(path)) return load_identity(storage);
  auto identity = Identity::generate(random);
  TRY(save_identity(storage, identity));
  return identity;
}

}  // namespace grapevine
