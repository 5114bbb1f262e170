// Any text as multibase and base64. There is one text for each byte string.
#include "grapevine/base/assert.hpp"
#include "grapevine/crypto/hash.hpp"
#include "grapevine/wire/multibase.hpp"

using namespace grapevine;

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  auto const text = as_text(ByteView(data, size));
  if (auto const bytes = from_multibase(text))
    ASSERT(to_multibase(static_cast<Multibase>(text.front()), *bytes) == text);
  if (auto const bytes = from_base64(text)) ASSERT(to_base64(*bytes) == text);
  if (auto const hash = Hash::parse(text)) ASSERT(Hash::parse(hash->cid()).value() == *hash);
  return 0;
}
