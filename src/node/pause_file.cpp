#include "node/pause_file_detail.hpp"

namespace grapevine {
namespace {

constexpr std::string_view path = "paused";

}  // namespace

bool pause_is_asked_for(Storage& storage) { return storage.exists(path); }

Result<> keep_pause(Storage& storage, bool asked_for) {
  if (!asked_for) return storage.remove(path);
  return storage.write_atomic(path, as_bytes("until `grapevine resume`\n"));
}

}  // namespace grapevine
