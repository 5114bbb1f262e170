// Any bytes as a token shard: an accepted header describes exactly the bytes that are there.
#include "grapevine/base/assert.hpp"
#include "grapevine/train/dataset.hpp"

using namespace grapevine;

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  auto const header = read_token_shard_header({data, size}, size);
  if (!header) return 0;
  ASSERT(header->token_bytes == 2 || header->token_bytes == 4);
  ASSERT(token_shard_header_bytes + header->tokens * header->token_bytes == size);
  return 0;
}
