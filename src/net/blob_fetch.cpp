// The fetching side of BlobExchange. One task drives a transfer, one task pulls from each holder;
// a holder that fails, stalls or lies gives its chunks back and is not asked again.
#include "blob_state_detail.hpp"
#include "grapevine/base/assert.hpp"
#include "grapevine/crypto/merkle.hpp"
#include "grapevine/wire/framing.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace grapevine {

namespace {

constexpr double rate_weight_new = 0.3;  // of the newest fetch in the smoothed rate
constexpr std::uint64_t first_request_chunks = 4;
constexpr Duration stalled_pause = 1min;
constexpr Duration silence_least = 2s;
constexpr std::size_t stalled_max = 1024;
// As many are hashed at once as pay (see merkle_leaves); more would only wait longer.
constexpr std::uint64_t checked_together = 16;

}  // namespace

Awaitable<Result<BlobExchange::Fetched>> BlobExchange::fetch(BlobRef ref,
                                                             std::vector<PeerId> holders,
                                                             Instant deadline) {
  auto& s = *state_;
  if (auto const* const kept = s.lookup(ref)) co_return Fetched{kept->blob, *kept->leaves, {}};
  if (ref.bytes > s.options.partial_bytes_max)
    co_return fail(Errc::limit_exceeded, fmt::format("blob of {} bytes", ref.bytes));
  auto const transfer = s.join_transfer(ref);
  struct Waiting {
    explicit Waiting(State::Transfer on) : transfer(std::move(on)) { ++transfer->waiters; }
    ~Waiting() {
      --transfer->waiters;
      transfer->changed.notify_all();
    }
    Waiting(Waiting const&) = delete;
    State::Transfer transfer;
  } const waiting(transfer);

  std::erase(holders, s.host.id());
  s.leave_out_stalled(holders);
  transfer->offer(holders);
  // One silent holder may not cost the whole time there is.
  transfer->silence_max =
      std::clamp((deadline - s.now()) / 4, silence_least, limits::blob_stall_max);
  if (!std::exchange(transfer->running, true)) s.tasks.spawn(s.run(transfer));
  auto blob = co_await with_deadline(s.doors.clock, deadline, s.wait_for(transfer));
  if (blob) co_return Fetched{*blob, transfer->leaves(), transfer->report};
  ++s.counters.fetches_failed;
  co_return fail(
      blob.error().errc(),
      fmt::format("blob {}: {}; {}", ref.root.hex().substr(0, 12), transfer->progress(),
                  blob.error().detail().empty() ? transfer->last_failure : blob.error().detail()));
}

// Fetches of one root share a transfer, unless they disagree about the size: then one of them was
// told a lie, and must not spoil the other.
BlobExchange::State::Transfer BlobExchange::State::join_transfer(BlobRef const& ref) {
  auto& entry = transfers[ref];
  if (entry) return entry;
  entry = std::make_shared<BlobTransfer>(ref, now());
  auto const old = suspended.find(ref.root);
  if (old != suspended.end() && (ref.bytes == 0 || ref.bytes == old->second.partial.data.size())) {
    auto const bytes = old->second.partial.data.size();
    entry->resume(std::move(old->second.partial), bytes);
    suspended.erase(old);
    transfer_bytes += bytes;
  }
  return entry;
}

// Each stall costs so much time that what was asked for may be gone by then: one that has stalled
// is asked again after a while, or when there is nobody else.
void BlobExchange::State::leave_out_stalled(std::vector<PeerId>& holders) const {
  auto const lately = [this](PeerId const& holder) {
    auto const at = stalled.find(holder);
    return at != stalled.end() && now() < at->second + stalled_pause;
  };
  if (!std::ranges::all_of(holders, lately)) std::erase_if(holders, lately);
}

void BlobExchange::State::note_stall(PeerId const& holder) {
  std::erase_if(stalled,
                [this](auto const& entry) { return now() >= entry.second + stalled_pause; });
  if (stalled.size() < stalled_max) stalled[holder] = now();
}

Awaitable<Result<Blob>> BlobExchange::State::wait_for(Transfer transfer) {
  while (!transfer->result) co_await transfer->changed.wait();
  co_return *transfer->result;
}

Awaitable<> BlobExchange::State::run(Transfer transfer) {
  std::function<Awaitable<>(TaskGroup&)> body = [this, transfer](TaskGroup& group) {
    return drive(group, transfer);
  };
  do co_await with_tasks(body);
  while (!transfer->complete() && transfer->waiters > 0 && transfer->has_holder());
  finish(transfer);
}

// Ends when all is there, when nobody is left to ask, or when nobody waits any more.
Awaitable<> BlobExchange::State::drive(TaskGroup& group, Transfer transfer) {
  while (!transfer->complete()) {
    if (transfer->waiters == 0) {
      transfer->forget_tries();  // a fetch that comes while this one ends begins anew
      co_return;
    }
    while (transfer->pulling < limits::blob_holders_max) {
      auto const holder = transfer->next_holder();
      if (!holder) break;
      ++transfer->pulling;
      group.spawn(pull(*holder, transfer));
    }
    if (transfer->pulling == 0) co_return;
    co_await transfer->changed.wait();
  }
}

void BlobExchange::State::finish(Transfer const& transfer) {
  transfers.erase(transfer->ref());
  transfer_bytes -= transfer->size();
  counters.bytes_fetched += transfer->report.bytes;
  note_rate(*transfer);
  if (transfer->complete()) {
    transfer->result = transfer->take();
  } else {
    transfer->result = fail(Errc::no_holder, transfer->last_failure);
    suspend(*transfer);
  }
  transfer->changed.notify_all();
}

// Also of one that was not finished: where no fetch ends in the time that a rate not yet known is
// given, it would stay unknown.
void BlobExchange::State::note_rate(BlobTransfer const& transfer) {
  auto const seconds = to_seconds(now() - transfer.started());
  if (seconds <= 0 || transfer.report.bytes == 0) return;
  auto const rate = static_cast<double>(transfer.report.bytes) / seconds;
  auto& smoothed = counters.fetch_bytes_per_s;
  smoothed = smoothed == 0 ? rate : smoothed + rate_weight_new * (rate - smoothed);
}

void BlobExchange::State::suspend(BlobTransfer& transfer) {
  if (transfer.there() == 0) return;
  auto const root = transfer.ref().root;
  auto const bytes = transfer.size();
  suspended.erase(root);
  if (!make_room(bytes)) return;
  suspended[root] = Suspended{transfer.suspend(), ++uses};
}

bool BlobExchange::State::make_room(std::uint64_t bytes) {
  while (suspended_bytes() + transfer_bytes + bytes > options.partial_bytes_max) {
    if (suspended.empty()) return false;
    suspended.erase(std::ranges::min_element(
        suspended, {}, [](auto const& entry) { return entry.second.last_used; }));
  }
  return true;
}

std::uint64_t BlobExchange::State::suspended_bytes() const {
  std::uint64_t bytes = 0;
  for (auto const& [root, entry] : suspended) bytes += entry.partial.data.size();
  return bytes;
}

// A link that breaks costs the chunks in flight, not the holder: it is asked once more, and again
// as long as it brought something in between.
Awaitable<> BlobExchange::State::pull(PeerId holder, Transfer transfer) {
  struct Pulling {
    explicit Pulling(BlobTransfer& on) : transfer(on) {}
    ~Pulling() {
      --transfer.pulling;
      transfer.changed.notify_all();
    }
    Pulling(Pulling const&) = delete;
    BlobTransfer& transfer;
  } const pulling(*transfer);
  auto const brought = [&from = transfer->report.from, &holder] {
    auto const bytes = from.find(holder);
    return bytes == from.end() ? 0 : bytes->second;
  };
  for (bool patient = true;;) {
    auto const before = brought();
    Pulse pulse{now()};
    bool broken = false;
    std::vector<Awaitable<>> both;
    both.push_back(pull_noting(holder, transfer, pulse, broken));
    both.push_back(watch(pulse, transfer->silence_max));
    auto const first = co_await first_of(std::move(both));
    if (first == 1) {
      transfer->last_failure = holder.text() + " sent nothing for too long";
      note_stall(holder);
    }
    if (!broken || (!patient && brought() == before)) co_return;
    patient = brought() > before;
  }
}

Awaitable<> BlobExchange::State::watch(Pulse const& pulse, Duration silence_max) {
  for (;;) {
    auto const due = pulse.last + silence_max;
    if (now() >= due && !pulse.idle) co_return;
    co_await doors.clock.sleep_until(std::max(due, now() + silence_max / 4));
  }
}

Awaitable<> BlobExchange::State::pull_noting(PeerId holder, Transfer transfer, Pulse& pulse,
                                             bool& broken) {
  auto const pulled = co_await pull_from(holder, transfer, pulse);
  if (pulled) co_return;
  auto const errc = pulled.error().errc();
  broken = errc == Errc::reset || errc == Errc::closed;
  transfer->last_failure = holder.text() + ": " + pulled.error().message();
}

Awaitable<Result<>> BlobExchange::State::pull_from(PeerId holder, Transfer transfer, Pulse& pulse) {
  std::vector<std::string> const protocols(1, blob::protocol);
  CO_TRY_ASSIGN(auto const opened, co_await host.open_stream(holder, protocols));
  auto& stream = *opened.stream;
  pulse.last = now();
  auto wanted = first_request_chunks;
  while (!transfer->complete()) {
    if (!transfer->described() && !transfer->describing) {
      CO_TRY(co_await describe(stream, holder, transfer, pulse));
      continue;
    }
    auto const fair = transfer->missing() / std::max<std::size_t>(transfer->pulling, 1) + 1;
    struct Claimed {
      explicit Claimed(BlobTransfer& from, std::uint64_t count)
          : transfer(from), claim(from.claim(count)) {}
      ~Claimed() { transfer.give_back(claim); }
      Claimed(Claimed const&) = delete;
      BlobTransfer& transfer;
      BlobTransfer::Claim claim;  // what of it has not come yet
    } claimed(*transfer, std::min({wanted, fair, chunks_at_once(down)}));
    if (claimed.claim.count == 0) {
      pulse.idle = true;
      co_await transfer->changed.wait();  // another may give chunks back
      pulse = {now(), false};
      continue;
    }
    auto const count = claimed.claim.count;
    auto const range = blob::chunks_range(transfer->size(), claimed.claim.first, count);
    co_await await_turn(range.size, pulse);
    auto const begun = now();
    CO_TRY(co_await pull_range(stream, holder, transfer, claimed.claim, pulse));
    auto const seconds = std::max(to_seconds(now() - begun), 1e-3);
    auto const aim = static_cast<double>(count) * to_seconds(limits::blob_request_aim) / seconds;
    wanted = static_cast<std::uint64_t>(
        std::clamp(aim, 1.0, static_cast<double>(limits::blob_request_chunks_max)));
  }
  co_return Result<>{};
}

// The leaves and the first chunk in one request. When the size was not known it is the holder's
// word until the last chunk, whose leaf covers its length, has come too.
Awaitable<Result<>> BlobExchange::State::describe(ByteStream& stream, PeerId holder,
                                                  Transfer transfer, Pulse& pulse) {
  struct Describing {
    explicit Describing(BlobTransfer& on) : transfer(on) { transfer.describing = true; }
    ~Describing() {
      transfer.describing = false;
      transfer.changed.notify_all();
    }
    Describing(Describing const&) = delete;
    BlobTransfer& transfer;
  } const describing(*transfer);

  auto const ref = transfer->ref();
  co_await await_turn(std::min<std::uint64_t>(ref.bytes, limits::blob_chunk_bytes), pulse);
  ChunkRequest const opening{ref, 0, 1, true};
  CO_TRY_ASSIGN(auto response, co_await ask(stream, opening, pulse));
  if (response.bytes > options.partial_bytes_max)
    co_return fail(Errc::limit_exceeded, fmt::format("blob of {} bytes", response.bytes));
  CO_TRY(transfer->check_leaves(response.leaves, response.bytes));
  auto const last = response.leaves.size() - 1;
  std::map<std::uint64_t, Bytes> chunks;
  std::set<std::uint64_t> wanted;
  wanted.insert(0);
  if (ref.bytes == 0) wanted.insert(last);
  for (auto const index : wanted) {
    ChunkRequest const closing{ref, index, 1, false};
    if (index != 0) {
      CO_TRY(co_await ask(stream, closing, pulse));
    }
    Bytes chunk(blob::chunk_range(response.bytes, index).size);
    CO_TRY(co_await read_chunk(stream, chunk, pulse));
    if (merkle_leaf(chunk) != response.leaves[index]) co_return tl::unexpected(bad_chunk(index));
    chunks[index] = std::move(chunk);
  }
  CO_TRY_ASSIGN(auto buffer, co_await make_buffer(response.bytes));
  transfer->describe(std::move(response.leaves), std::move(buffer));
  for (auto const& [index, chunk] : chunks) {
    transfer->claim_one(index);
    std::ranges::copy(chunk, transfer->place(index).begin());
    auto const bad = transfer->accept({index, 1}, holder);
    ASSERT(!bad);
  }
  co_return Result<>{};
}

// What is asked for comes as fast as the link is. Asked for at the rate of the cap, it comes at
// that rate, a request at a time.
Awaitable<> BlobExchange::State::await_turn(std::uint64_t bytes, Pulse& pulse) {
  if (!down) co_return;
  pulse.idle = true;
  co_await doors.clock.sleep_until(down->book(bytes, now()));
  pulse = {now(), false};
}

// A large buffer is made, and so zeroed, on the worker.
Awaitable<Result<Bytes>> BlobExchange::State::make_buffer(std::uint64_t bytes) {
  if (!make_room(bytes))
    co_return fail(Errc::limit_exceeded,
                   fmt::format("{} bytes more than the {} for unfinished blobs", bytes,
                               options.partial_bytes_max));
  struct Reserved {
    explicit Reserved(std::uint64_t& in, std::uint64_t by) : total(&in), bytes(by) { in += by; }
    ~Reserved() {
      if (total) *total -= bytes;
    }
    Reserved(Reserved const&) = delete;
    std::uint64_t* total;
    std::uint64_t bytes;
  } reserved(transfer_bytes, bytes);
  auto make = [bytes](std::stop_token) { return Bytes(bytes); };
  auto buffer = co_await run_on<Bytes>(doors.heavy, std::move(make));
  reserved.total = nullptr;  // the transfer's now
  co_return buffer;
}

Awaitable<Result<>> BlobExchange::State::pull_range(ByteStream& stream, PeerId holder,
                                                    Transfer transfer, BlobTransfer::Claim& claim,
                                                    Pulse& pulse) {
  ChunkRequest const request{transfer->ref(), claim.first, static_cast<std::uint32_t>(claim.count),
                             false};
  CO_TRY_ASSIGN(auto const response, co_await ask(stream, request, pulse));
  for (std::uint64_t left = response.count; left > 0;) {
    auto const batch = std::min(left, checked_together);
    std::uint64_t got = 0;
    Result<> read;
    while (got < batch && read) {
      read = co_await read_chunk(stream, transfer->place(claim.first + got), pulse);
      if (read) ++got;
    }
    BlobTransfer::Claim const came{claim.first, got};
    claim.first += got;
    claim.count -= got;
    left -= got;
    if (auto const bad = transfer->accept(came, holder)) co_return tl::unexpected(bad_chunk(*bad));
    if (!read) co_return read;
  }
  co_return Result<>{};
}

Error BlobExchange::State::bad_chunk(std::uint64_t index) {
  ++counters.chunks_bad;
  return Error(Errc::hash_mismatch, fmt::format("chunk {} is not what its hash says", index));
}

Awaitable<Result<ChunkResponse>> BlobExchange::State::ask(ByteStream& stream, ChunkRequest request,
                                                          Pulse& pulse) {
  Bytes message;
  append_frame(message, encode(request));
  auto const response_max =
      request.want_leaves ? limits::chunk_response_bytes_max : limits::chunk_request_bytes_max;
  for (;;) {
    CO_TRY(co_await stream.write(message));
    CO_TRY_ASSIGN(auto const bytes, co_await blob::read_message(stream, response_max));
    pulse.last = now();
    CO_TRY_ASSIGN(auto response, decode_chunk_response(bytes));
    switch (response.status) {
      case ChunkStatus::ok:
        if (response.count == 0 || response.count > request.count)
          co_return fail(Errc::protocol_violation,
                         fmt::format("{} chunks for {} asked", response.count, request.count));
        co_return response;
      case ChunkStatus::not_found:
        co_return fail(Errc::not_found, "the holder does not have it");
      case ChunkStatus::busy:
        break;
    }
    auto const pause = std::chrono::milliseconds(response.retry_after_ms);
    pulse.last = now() + pause;
    co_await doors.clock.sleep_for(std::max<Duration>(pause, limits::blob_busy_pause / 2));
  }
}

// Every piece that comes is progress, but a chunk as a whole has its time.
Awaitable<Result<>> BlobExchange::State::read_chunk(ByteStream& stream, MutableByteView into,
                                                    Pulse& pulse) {
  auto const due = now() + limits::blob_chunk_max;
  for (std::size_t got = 0; got < into.size();) {
    CO_TRY_ASSIGN(auto const more, co_await stream.read_some(into.subspan(got)));
    got += more;
    pulse.last = now();
    if (pulse.last > due) co_return fail(Errc::timed_out, "a chunk that never ends");
  }
  co_return Result<>{};
}

}  // namespace grapevine
