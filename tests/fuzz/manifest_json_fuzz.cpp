// Any text as a manifest file, signed or written by a person. A description that is taken is one
// that can be signed.
#include "fuzz/payload.hpp"
#include "grapevine/wire/manifest.hpp"

using namespace grapevine;

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  auto const text = as_text(ByteView(data, size));
  (void)signed_manifest_from_json(text);
  auto const manifest = manifest_from_json(text);
  if (!manifest.has_value()) return 0;
  ASSERT(verify_manifest(sign_manifest(*manifest, fuzz_identity()).bytes).has_value());
  return 0;
}
