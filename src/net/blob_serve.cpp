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

// A part of what there is, so that one peer that only holds its streams leaves room for others.
bool BlobExchange::State::has_room(PeerId const& peer) const {
  if (tasks.size() >= limits::blob_streams_max) return false;
  auto const load = loads.find(peer);
  return load == loads.end() || load->second.streams < limits::blob_streams_per_peer_max;
}

Awaitable<> BlobExchange::State::serve(PeerStream stream) {
  struct Serving {
    Serving(State& in, PeerId of) : state(in), peer(std::move(of)), load(state.loads[peer]) {
      ++load.streams;
    }
    ~Serving() {
      if (--load.streams == 0) state.loads.erase(peer);
    }
    Serving(Serving const&) = delete;
    State& state;
    PeerId peer;
    Load& load;
  } const serving(*this, stream.peer);

  while (true) {
    auto const served = co_await serve_one(*stream.stream, serving.load);
    if (!served) break;
  }
}

// One request and its answer. At the end of the requests our side ends too.
Awaitable<Result<>> BlobExchange::State::serve_one(ByteStream& stream, Load& load) {
  auto reading = blob::read_message(stream, limits::chunk_request_bytes_max);
  auto const bytes =
      co_await with_deadline(doors.clock, now() + limits::blob_idle_max, std::move(reading));
  if (!bytes) {
    if (bytes.error().errc() == Errc::closed) (void)co_await stream.close_write();
    co_return tl::unexpected(bytes.error());
  }
  CO_TRY_ASSIGN(auto const request, decode_chunk_request(*bytes));
  co_return co_await answer(stream, request, load);
}

Awaitable<Result<>> BlobExchange::State::answer(ByteStream& stream, ChunkRequest request,
                                                Load& load) {
  struct Serving {
    Serving(std::size_t& in_all, std::size_t& of_peer) : all(in_all), peer(of_peer) {
      ++all;
      ++peer;
    }
    ~Serving() {
      --all;
      --peer;
    }
    Serving(Serving const&) = delete;
    std::size_t& all;
    std::size_t& peer;
  } const serving(counters.serving, load.answers);

  ChunkResponse response;
  Blob source;
  if (counters.serving > limits::blob_streams_served_max ||
      load.answers > limits::blob_streams_served_per_peer_max) {
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
