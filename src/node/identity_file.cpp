#include "grapevine/node/identity_file.hpp"

#include "grapevine/base/limits.hpp"

namespace grapevine {
namespace {

constexpr std::string_view path = "identity.key";

}  // namespace

Result<Identity> load_identity(Storage& storage) {
  auto const bytes = storage.read(path, limits::key_file_bytes_max);
  if (!bytes && bytes.error().errc() == Errc::oversize)
    return fail(Errc::key_file_corrupt, bytes.error().detail());
  TRY(bytes);
  auto identity = Identity::from_protobuf(*bytes);
  if (!identity)
    return fail(Errc::key_file_corrupt, storage.describe(path) + ": " + identity.error().detail());
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
