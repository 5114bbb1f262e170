// What both ends of /grapevine/1/blob share: messages behind a varint length on a stream, and the
// arithmetic of chunks.
#pragma once

#include "grapevine/base/limits.hpp"
#include "grapevine/net/blob_exchange.hpp"
#include "grapevine/wire/messages.hpp"

namespace grapevine::blob {

inline constexpr auto protocol = "/grapevine/1/blob";

[[nodiscard]] inline std::uint64_t chunks_of(std::uint64_t bytes) {
  return bytes == 0 ? 1 : (bytes - 1) / limits::blob_chunk_bytes + 1;
}
// Chunk `index` of a blob of `bytes` bytes: where it is.
struct ChunkRange {
  std::size_t offset = 0;
  std::size_t size = 0;
};
[[nodiscard]] inline ChunkRange chunk_range(std::uint64_t bytes, std::uint64_t index) {
  auto const offset = index * limits::blob_chunk_bytes;
  return {offset, std::min<std::uint64_t>(limits::blob_chunk_bytes, bytes - offset)};
}
// So many chunks from `first` on, at least one: where they are.
[[nodiscard]] inline ChunkRange chunks_range(std::uint64_t bytes, std::uint64_t first,
                                             std::uint64_t count) {
  auto const begin = first * limits::blob_chunk_bytes;
  auto const end = std::min<std::uint64_t>(bytes, (first + count) * limits::blob_chunk_bytes);
  return {begin, end - begin};
}

// Errc::oversize before anything is read when the length is above `bytes_max`.
Awaitable<Result<Bytes>> read_message(ByteStream& stream, std::size_t bytes_max);

}  // namespace grapevine::blob
