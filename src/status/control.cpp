#include "grapevine/status/control.hpp"

#include "grapevine/base/limits.hpp"
#include "grapevine/crypto/hash.hpp"

namespace grapevine {
namespace {

constexpr std::string_view path = "control.token";

}  // namespace

std::string_view to_string(Command command) {
  switch (command) {
    case Command::pause:
      return "pause";
    case Command::resume:
      return "resume";
    case Command::leave:
      return "leave";
    case Command::checkpoint:
      return "checkpoint";
  }
  return "?";
}

Result<std::string> load_or_create_control_token(Storage& storage, Random& random) {
  Hash token;  // 32 bytes with a text form
  auto const kept = storage.read(path, limits::small_text_file_bytes_max);
  auto const parsed =
      kept ? Hash::parse(as_text(*kept)) : Result<Hash>(tl::unexpected(kept.error()));
  if (parsed)
    token = *parsed;
  else
    random.fill(token.bytes);
  // Also the one from before: whatever became of the file, only its owner reads it from now on.
  TRY(storage.write_atomic(path, as_bytes(token.hex()), true));
  return token.hex();
}

}  // namespace grapevine
