// The serving side of BlobExchange. Chunks go out straight from the shared blob; a slow reader
// holds a stream's window and nothing more.
#include "blob_state_detail.hpp"
#include "grapevine/base/assert.hpp"
#include "grapevine/crypto/merkle.hpp"
#include "grapevine/wire/framing.hpp"

namespace grapevine {

void BlobExchange::State::keep(BlobRef const& ref, std::vector<Hash> leaves, Blob blob) {
  ASSERT(blob->size() == ref.bytes);
  ASSERT(leaves.size() == blob::chunks_of(ref.bytes));
  auto& entry = kept[ref];
  if (entry.times++ > 0) return;
  entry.blob = std::move(blob);
  entry.leaves = std::make_shared<std::vector<Hash> const>(std::move(leaves));
  counters.kept_bytes += ref.bytes;
}

BlobExchange::State::Kept const* BlobExchange::State::lookup(BlobRef const& ref) const {
  auto const found = kept.lower_bound({ref.root, ref.bytes});
  if (found == kept.end() || found->first.root != ref.root) return nullptr;
  return ref.bytes == 0 || ref.bytes == found->first.bytes ? &found->second : nullptr;
}

Awaitable<> BlobExchange::State::serve(PeerStream stream) {
  while (true) {
    auto const served = co_await serve_one(*stream.stream);
    if (!served) break;
  }
}

// One request and its answer. At the end of the requests our side ends too.
Awaitable<Result<>> BlobExchange::State::serve_one(ByteStream& stream) {
  auto reading = blob::read_message(stream, limits::chunk_request_bytes_max);
  auto const bytes =
      co_await with_deadline(doors.clock, now() + limits::blob_idle_max, std::move(reading));
  if (!bytes) {
    if (bytes.error().errc() == Errc::closed) (void)co_await stream.close_write();
    co_return tl::unexpected(bytes.error());
  }
  CO_TRY_ASSIGN(auto const request, decode_chunk_request(*bytes));
  co_return co_await answer(stream, request);
}

Awaitable<Result<>> BlobExchange::State::answer(ByteStream& stream, ChunkRequest request) {
  struct Serving {
    explicit Serving(std::size_t& count) : serving(count) { ++serving; }
    ~Serving() { --serving; }
    Serving(Serving const&) = delete;
    std::size_t& serving;
  } const serving(counters.serving);

  ChunkResponse response;
  Blob source;
  if (counters.serving > limits::blob_streams_served_max) {
    response.status = ChunkStatus::busy;
    response.retry_after_ms = static_cast<std::uint32_t>(
        std::chrono::floor<std::chrono::milliseconds>(limits::blob_busy_pause).count());
  } else if (auto const* found = lookup(request.blob)) {
    source = found->blob;
    auto const chunks = found->leaves->size();
    auto const left = request.first < chunks ? chunks - request.first : 0;
    response.bytes = source->size();
    response.count = static_cast<std::uint32_t>(std::min<std::uint64_t>(request.count, left));
    if (request.want_leaves) response.leaves = *found->leaves;
  } else {
    response.status = ChunkStatus::not_found;
  }
  Bytes header;
  append_frame(header, encode(response));
  CO_TRY(co_await write(stream, header));
  for (std::uint64_t i = request.first; i < request.first + response.count; ++i) {
    auto const range = blob::chunk_range(source->size(), i);
    CO_TRY(co_await write(stream, ByteView(*source).subspan(range.offset, range.size)));
    counters.bytes_served += range.size;
  }
  co_return Result<>{};
}

Awaitable<Result<>> BlobExchange::State::write(ByteStream& stream, ByteView bytes) {
  if (bytes.empty()) co_return Result<>{};
  co_return co_await with_deadline(doors.clock, now() + limits::blob_chunk_max,
                                   stream.write(bytes));
}

}  // namespace grapevine
