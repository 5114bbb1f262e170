#include "host_state_detail.hpp"

#include "grapevine/base/token_bucket.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace grapevine {
namespace {

constexpr std::string_view ping_protocol = "/ipfs/ping/1.0.0";
constexpr std::string_view perf_protocol = "/perf/1.0.0";
using PingBytes = std::array<std::uint8_t, 32>;

// Large enough that a write costs less than its bytes.
constexpr std::size_t perf_block_bytes = 512 * 1024;
constexpr std::size_t perf_first_bytes = 4096;
constexpr Duration perf_stall_max = 60s;

Awaitable<Result<>> ping_once(ByteStream& stream, PingBytes sent) {
  CO_TRY(co_await stream.write(sent));
  PingBytes echoed{};
  CO_TRY(co_await read_exactly(stream, echoed));
  if (echoed != sent) co_return fail(Errc::protocol_violation, "ping answered with other bytes");
  co_return Result<>();
}

// Ends when `count` bytes were written or the peer takes none for too long.
Awaitable<Result<>> write_zeros(Clock& clock, ByteStream& stream, std::uint64_t count) {
  static Bytes const block(perf_block_bytes);
  while (count > 0) {
    auto const size = std::min<std::uint64_t>(count, block.size());
    auto writing = stream.write(ByteView(block).first(size));
    CO_TRY(co_await with_deadline(clock, clock.now() + perf_stall_max, std::move(writing)));
    count -= size;
  }
  co_return Result<>();
}

// Bytes until the end of the stream.
Awaitable<Result<std::uint64_t>> read_to_end(Clock& clock, ByteStream& stream) {
  Bytes block(perf_first_bytes);
  std::uint64_t count = 0;
  while (true) {
    if (count > 0) block.resize(perf_block_bytes);  // no large buffer for an empty answer
    auto reading = stream.read_some(block);
    auto const got =
        co_await with_deadline(clock, clock.now() + perf_stall_max, std::move(reading));
    if (!got && got.error().errc() == Errc::closed) co_return count;
    if (!got) co_return tl::unexpected(got.error());
    count += *got;
  }
}

}  // namespace

void Host::State::serve_ping() {
  handlers[std::string(ping_protocol)] = [this](PeerStream stream) {
    return answer_pings(std::move(stream));
  };
}

Awaitable<> Host::State::answer_pings(PeerStream stream) {
  struct Place {
    State& state;
    PeerId peer;
    explicit Place(State& state_, PeerId peer_) : state(state_), peer(std::move(peer_)) {
      ++state.ping_streams[peer];
    }
    ~Place() {
      if (--state.ping_streams[peer] == 0) state.ping_streams.erase(peer);
    }
  };
  Place const place(*this, stream.peer);
  if (ping_streams[stream.peer] > limits::ping_streams_inbound_max) co_return;
  auto const ended = co_await echo_pings(*stream.stream);
  // js drops the connection unless the end of its ping stream is answered with ours.
  if (ended) (void)co_await stream.stream->close_write();
}

Awaitable<Result<>> Host::State::echo_pings(ByteStream& stream) {
  auto& clock = doors.clock;
  TokenBucket rate(limits::pings_per_s_max, limits::pings_burst, clock.now());
  while (true) {
    PingBytes bytes{};
    auto reading = read_exactly(stream, bytes);
    auto const got =
        co_await with_deadline(clock, clock.now() + limits::ping_idle_max, std::move(reading));
    if (!got && got.error().errc() == Errc::closed) co_return Result<>();
    CO_TRY(got);
    while (!rate.take(clock.now()))
      co_await clock.sleep_for(from_seconds(1 / limits::pings_per_s_max));
    auto writing = stream.write(bytes);
    CO_TRY(co_await with_deadline(clock, clock.now() + limits::ping_deadline, std::move(writing)));
  }
}

Awaitable<Result<std::vector<double>>> Host::State::ping(PeerId peer, std::uint32_t count) {
  auto& clock = doors.clock;
  std::vector<std::string> const protocols(1, std::string(ping_protocol));
  CO_TRY_ASSIGN(auto stream, co_await open_stream(std::move(peer), protocols));
  std::vector<double> rtt_ms;
  for (std::uint32_t i = 0; i < count; ++i) {
    PingBytes sent{};
    doors.random.fill(sent);
    auto const begun = clock.now();
    auto once = ping_once(*stream.stream, sent);
    CO_TRY(co_await with_deadline(clock, begun + limits::ping_deadline, std::move(once)));
    rtt_ms.push_back(to_seconds(clock.now() - begun) * 1000);
  }
  CO_TRY(co_await stream.stream->close_write());
  co_return rtt_ms;
}

void Host::State::serve_perf() {
  handlers[std::string(perf_protocol)] = [this](PeerStream stream) {
    return answer_perf(std::move(stream));
  };
}

Awaitable<> Host::State::answer_perf(PeerStream stream) {
  auto& clock = doors.clock;
  std::array<std::uint8_t, 8> wanted{};
  auto reading = read_exactly(*stream.stream, wanted);
  auto const asked =
      co_await with_deadline(clock, clock.now() + perf_stall_max, std::move(reading));
  if (!asked || !co_await read_to_end(clock, *stream.stream)) co_return;
  auto const sent = co_await write_zeros(clock, *stream.stream, read_be<std::uint64_t>(wanted));
  if (sent) (void)co_await stream.stream->close_write();
}

Awaitable<Result<Host::PerfResult>> Host::State::perf(PeerId peer, std::uint64_t upload,
                                                      std::uint64_t download) {
  auto& clock = doors.clock;
  std::vector<std::string> const protocols(1, std::string(perf_protocol));
  CO_TRY_ASSIGN(auto stream, co_await open_stream(std::move(peer), protocols));
  auto& bytes = *stream.stream;
  Bytes request;
  append_be<std::uint64_t>(request, download);
  auto const begun = clock.now();
  CO_TRY(co_await bytes.write(request));
  CO_TRY(co_await write_zeros(clock, bytes, upload));
  CO_TRY(co_await bytes.close_write());
  Bytes first(perf_first_bytes);
  auto reading = bytes.read_some(first);
  auto const got = co_await with_deadline(clock, clock.now() + perf_stall_max, std::move(reading));
  auto const uploaded = clock.now();
  if (!got && (got.error().errc() != Errc::closed || download > 0))
    co_return tl::unexpected(got.error());
  std::uint64_t received = got.value_or(0);
  if (got) {
    CO_TRY_ASSIGN(auto const rest, co_await read_to_end(clock, bytes));
    received += rest;
  }
  if (received != download)
    co_return fail(Errc::protocol_violation,
                   fmt::format("asked for {} bytes, got {}", download, received));
  co_return PerfResult{to_seconds(uploaded - begun), to_seconds(clock.now() - uploaded)};
}

}  // namespace grapevine
