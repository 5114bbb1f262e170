// BlobExchange: bytes by content hash over /grapevine/1/blob. Serves what its owner keeps in it;
// fetches from several holders at once, chunk by chunk, each checked against the Merkle root before
// it counts. A broken link loses at most the chunks in flight: it is dialled once more, and a later
// fetch of the same blob goes on where this one stopped. Memory is bounded by what is kept plus
// what is being fetched. Caps on what goes out and comes in shape the chunks and nothing else, so
// that beacons, gossip and pings stay alive under any. Loop thread only.
#pragma once

#include "grapevine/base/limits.hpp"
#include "grapevine/net/host.hpp"
#include "grapevine/wire/blob_ref.hpp"

#include <map>
#include <memory>

namespace grapevine {

using Blob = std::shared_ptr<Bytes const>;

class BlobExchange {
 public:
  static constexpr std::uint64_t rate_cap_min =  // twice what that takes
      2 * limits::blob_chunk_bytes /
      std::chrono::duration_cast<std::chrono::seconds>(limits::blob_chunk_max).count();

  struct Options {
    std::uint64_t kept_bytes_max = 2ull << 30;     // keep() refuses above it
    std::uint64_t partial_bytes_max = 1ull << 30;  // of unfinished fetches, oldest dropped first
    // 0: no cap; else at least rate_cap_min, or no chunk would pass in its time.
    std::uint64_t up_bytes_per_s = 0;
    std::uint64_t down_bytes_per_s = 0;
  };
  BlobExchange(Doors doors, Host& host, Options options);
  ~BlobExchange();
  BlobExchange(BlobExchange const&) = delete;
  void start();
  Awaitable<> stop();

  // Serve `blob` until release(ref). Hashing happens on the heavy worker. Kept twice counts twice.
  Awaitable<Result<BlobRef>> keep(Blob blob);
  void keep_as(BlobRef ref, std::vector<Hash> leaves, Blob blob);  // hashed already
  void release(BlobRef const& ref);
  [[nodiscard]] Blob find(BlobRef const& ref) const;
  // While it does not serve it answers that it has nothing.
  void serve(bool serves);

  struct FetchReport {
    std::uint64_t bytes = 0;    // pulled now
    std::uint64_t resumed = 0;  // already there from an earlier try
    std::map<PeerId, std::uint64_t> from;
  };
  struct Fetched {
    Blob blob;
    std::vector<Hash> leaves;  // of its Merkle tree, as keep_as() takes them
    FetchReport report;
  };
  // Tries the holders (at most limits::blob_holders_max at once; one that stalls, lies or lacks it
  // is left out) until all is there: Errc::no_holder when none can serve it, Errc::timed_out at
  // `deadline`. A blob that is kept here already is returned at once. Fetches of one blob share one
  // transfer.
  Awaitable<Result<Fetched>> fetch(BlobRef ref, std::vector<PeerId> holders, Instant deadline);

  struct Counters {
    std::uint64_t bytes_served = 0, bytes_fetched = 0, chunks_bad = 0, fetches_failed = 0;
    std::uint64_t kept_bytes = 0, partial_bytes = 0;
    std::size_t serving = 0;
    // Smoothed over recent fetches, but no more than the caps; 0 when unknown.
    double fetch_bytes_per_s = 0;
  };
  [[nodiscard]] Counters counters() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace grapevine
