// Any signed payload as a manifest. What verifies goes through JSON unharmed.
#include "fuzz/payload.hpp"
#include "grapevine/wire/manifest.hpp"

using namespace grapevine;

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  auto const manifest = verify_manifest(signed_payload("manifest", data, size));
  if (!manifest.has_value()) return 0;
  auto const again = signed_manifest_from_json(to_json(*manifest));
  ASSERT(again.has_value() && again->manifest == manifest->manifest);
  return 0;
}
