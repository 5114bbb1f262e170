// Any bytes as a chunk request and as a chunk response. What decodes encodes to the same value.
#include "grapevine/base/assert.hpp"
#include "grapevine/wire/messages.hpp"

using namespace grapevine;

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  ByteView const bytes(data, size);
  if (auto const request = decode_chunk_request(bytes))
    ASSERT(decode_chunk_request(encode(*request)).value() == *request);
  if (auto const response = decode_chunk_response(bytes))
    ASSERT(decode_chunk_response(encode(*response)).value() == *response);
  return 0;
}
