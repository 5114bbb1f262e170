#include "grapevine/net/blob_exchange.hpp"

#include "blob_state_detail.hpp"
#include "grapevine/base/limits.hpp"
#include "grapevine/crypto/merkle.hpp"

#include <fmt/core.h>

namespace grapevine {

namespace {

Awaitable<> nothing() { co_return; }

std::vector<Hash> hash_chunks(Bytes const& bytes) {
  return merkle_leaves(bytes, limits::blob_chunk_bytes);
}

}  // namespace

BlobExchange::State::State(Doors to, Host& on, Options with)
    : doors(to), host(on), options(with), tasks(doors.executor) {
  if (options.up_bytes_per_s > 0) up.emplace(options.up_bytes_per_s);
  if (options.down_bytes_per_s > 0) down.emplace(options.down_bytes_per_s);
}

BlobExchange::BlobExchange(Doors doors, Host& host, Options options)
    : state_(std::make_unique<State>(doors, host, options)) {}
BlobExchange::~BlobExchange() = default;

void BlobExchange::start() {
  state_->host.handle(blob::protocol, [state = state_.get()](PeerStream stream) {
    if (state->has_room(stream.peer)) state->tasks.spawn(state->serve(std::move(stream)));
    return nothing();
  });
}

Awaitable<> BlobExchange::stop() {
  auto& s = *state_;
  s.stopping = true;
  s.host.unhandle(blob::protocol);
  for (auto const& [root, transfer] : s.transfers) {
    transfer->result = fail(Errc::cancelled, "stopping");
    transfer->changed.notify_all();
  }
  s.tasks.cancel();
  co_await s.tasks.join();
}

Awaitable<Result<BlobRef>> BlobExchange::keep(Blob blob) {
  auto& s = *state_;
  if (s.counters.kept_bytes + blob->size() > s.options.kept_bytes_max)
    co_return fail(Errc::limit_exceeded,
                   fmt::format("keeping {} bytes more than {} of {}", blob->size(),
                               s.counters.kept_bytes, s.options.kept_bytes_max));
  auto hash = [blob](std::stop_token) { return hash_chunks(*blob); };
  auto leaves = co_await run_on<std::vector<Hash>>(s.doors.heavy, std::move(hash));
  BlobRef const ref{merkle_root(leaves), blob->size()};
  s.keep(ref, std::move(leaves), std::move(blob));
  co_return ref;
}

void BlobExchange::keep_as(BlobRef ref, std::vector<Hash> leaves, Blob blob) {
  state_->keep(ref, std::move(leaves), std::move(blob));
}

void BlobExchange::release(BlobRef const& ref) {
  auto const found = state_->kept.find(ref);
  if (found == state_->kept.end() || --found->second.times > 0) return;
  state_->counters.kept_bytes -= ref.bytes;
  state_->kept.erase(found);
}

Blob BlobExchange::find(BlobRef const& ref) const {
  auto const* found = state_->lookup(ref);
  return found ? found->blob : nullptr;
}

std::uint64_t BlobExchange::State::chunks_at_once(std::optional<RateCap> const& cap) {
  if (!cap) return limits::blob_request_chunks_max;
  auto const passing = cap->bytes_in(limits::blob_request_aim) / limits::blob_chunk_bytes;
  return std::clamp<std::uint64_t>(passing, 1, limits::blob_request_chunks_max);
}

void BlobExchange::serve(bool serves) { state_->serves = serves; }

BlobExchange::Counters BlobExchange::counters() const {
  auto out = state_->counters;
  auto& rate = out.fetch_bytes_per_s;
  for (auto const* cap : {&state_->up, &state_->down})
    if (*cap && (rate == 0 || rate > (*cap)->bytes_per_s())) rate = (*cap)->bytes_per_s();
  out.partial_bytes = state_->suspended_bytes() + state_->transfer_bytes;
  return out;
}

}  // namespace grapevine
