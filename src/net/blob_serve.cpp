// The serving side of BlobExchange. Chunks go out straight from the shared blob; a slow reader
// holds a stream's window and nothing more. Under a cap one answer goes out after another: who
// comes when more is booked than fits a moment is told when to come again, and loses no time on us.
#include "blob_state_detail.hpp"
#include "grapevine/base/assert.hpp"
#include "grapevine/crypto/merkle.hpp"
#include "grapevine/wire/framing.hpp"

namespace grapevine {
namespace {

// Booked for longer than this, the cap has no room for another answer.
constexpr Duration booked_max = 1s;
constexpr Duration piece_time = 50ms;
constexpr std::uint64_t piece_bytes_min = 1024;

std::uint32_t milliseconds_of(Duration pause) {
  auto const whole = std::chrono::ceil<std::chrono::milliseconds>(pause).count();
  return static_cast<std::uint32_t>(std::min<std::int64_t>(whole, limits::retry_after_ms_max));
}

}  // namespace

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
  auto const* const found = serves ? lookup(request.blob) : nullptr;
  Duration const booked = up ? up->backlog(now()) : Duration{};
  // What is booked is the others' loss when its reader does not read: one at a time, of each.
  std::size_t const of_one = up ? 1 : limits::blob_streams_served_per_peer_max;
  if (counters.serving > limits::blob_streams_served_max || load.answers > of_one) {
    response.status = ChunkStatus::busy;
    response.retry_after_ms = milliseconds_of(limits::blob_busy_pause);
  } else if (found != nullptr && booked > booked_max) {
    response.status = ChunkStatus::busy;
    response.retry_after_ms = milliseconds_of(booked - booked_max / 2);
  } else if (found != nullptr) {
    source = found->blob;
    auto const chunks = found->leaves->size();
    auto const left = request.first < chunks ? chunks - request.first : 0;
    response.bytes = source->size();
    response.count = static_cast<std::uint32_t>(
        std::min({std::uint64_t{request.count}, left, chunks_at_once(up)}));
    if (request.want_leaves) response.leaves = *found->leaves;
  } else {
    response.status = ChunkStatus::not_found;
  }
  Bytes header;
  append_frame(header, encode(response));
  if (response.count == 0) co_return co_await write(stream, header);
  auto const range = blob::chunks_range(source->size(), request.first, response.count);
  auto const chunks = ByteView(*source).subspan(range.offset, range.size);
  Instant const begin = up ? up->book(chunks.size(), now()) : now();
  CO_TRY(co_await write(stream, header));
  co_return co_await send_chunks(stream, chunks, begin);
}

Awaitable<Result<>> BlobExchange::State::send_chunks(ByteStream& stream, ByteView chunks,
                                                     Instant begin) {
  std::size_t const piece_max =
      up ? std::clamp<std::uint64_t>(up->bytes_in(piece_time), piece_bytes_min,
                                     limits::blob_chunk_bytes)
         : limits::blob_chunk_bytes;
  for (std::size_t sent = 0; sent < chunks.size();) {
    if (up) co_await doors.clock.sleep_until(begin + up->time_of(sent));
    auto const piece = chunks.subspan(sent, std::min(piece_max, chunks.size() - sent));
    CO_TRY(co_await write(stream, piece));
    sent += piece.size();
    counters.bytes_served += piece.size();
  }
  co_return Result<>{};
}

Awaitable<Result<>> BlobExchange::State::write(ByteStream& stream, ByteView bytes) {
  if (bytes.empty()) co_return Result<>{};
  co_return co_await with_deadline(doors.clock, now() + limits::blob_chunk_max,
                                   stream.write(bytes));
}

}  // namespace grapevine
