// The inside of BlobExchange: what is kept and served (blob_serve.cpp), what is fetched
// (blob_fetch.cpp), and what was left of fetches that did not finish.
#pragma once

#include "blob_transfer_detail.hpp"
#include "grapevine/base/rate_cap.hpp"

namespace grapevine {

struct BlobExchange::State {
  State(Doors doors, Host& host, Options options);

  struct Kept {
    Blob blob;
    std::shared_ptr<std::vector<Hash> const> leaves;
    std::size_t times = 0;
  };
  using Transfer = std::shared_ptr<BlobTransfer>;
  struct Suspended {
    PartialBlob partial;
    std::uint64_t last_used = 0;
  };
  struct Pulse {  // of one holder: when it last sent something
    Instant last{};
    bool idle = false;  // nothing is asked of it
  };

  Doors doors;
  Host& host;
  Options options;
  std::map<BlobRef, Kept> kept;
  std::map<BlobRef, Transfer> transfers;
  std::map<Hash, Suspended> suspended;
  std::map<PeerId, Instant> stalled;  // holders, and when
  std::uint64_t uses = 0;
  std::uint64_t transfer_bytes = 0;  // of the buffers of running transfers
  Counters counters;
  struct Load {  // that one peer puts on us
    std::size_t streams = 0;
    std::size_t answers = 0;  // being written
  };
  std::map<PeerId, Load> loads;
  std::optional<RateCap> up, down;
  bool serves = true;
  bool stopping = false;
  TaskGroup tasks;

  // what is kept
  void keep(BlobRef const& ref, std::vector<Hash> leaves, Blob blob);
  // By root; its size must fit, when the ref knows one.
  [[nodiscard]] Kept const* lookup(BlobRef const& ref) const;
  Awaitable<> serve(PeerStream stream);
  [[nodiscard]] bool has_room(PeerId const& peer) const;
  Awaitable<Result<>> serve_one(ByteStream& stream, Load& load);
  Awaitable<Result<>> answer(ByteStream& stream, ChunkRequest request, Load& load);
  Awaitable<Result<>> send_chunks(ByteStream& stream, ByteView chunks, Instant begin);
  Awaitable<Result<>> write(ByteStream& stream, ByteView bytes);

  // what is fetched
  Transfer join_transfer(BlobRef const& ref);
  void leave_out_stalled(std::vector<PeerId>& holders) const;
  void note_stall(PeerId const& holder);
  Awaitable<Result<Blob>> wait_for(Transfer transfer);
  Awaitable<> run(Transfer transfer);
  Awaitable<> drive(TaskGroup& group, Transfer transfer);
  void finish(Transfer const& transfer);
  Awaitable<> pull(PeerId holder, Transfer transfer);
  // `broken`: it failed, and the link did it.
  Awaitable<> pull_noting(PeerId holder, Transfer transfer, Pulse& pulse, bool& broken);
  Awaitable<> watch(Pulse const& pulse, Duration silence_max);
  Awaitable<Result<>> pull_from(PeerId holder, Transfer transfer, Pulse& pulse);
  Awaitable<Result<>> describe(ByteStream& stream, PeerId holder, Transfer transfer, Pulse& pulse);
  Awaitable<Result<>> pull_range(ByteStream& stream, PeerId holder, Transfer transfer,
                                 BlobTransfer::Claim& claim, Pulse& pulse);
  // The answer to `request`; waits and asks again while the holder is busy.
  Awaitable<Result<ChunkResponse>> ask(ByteStream& stream, ChunkRequest request, Pulse& pulse);
  Awaitable<Result<>> read_chunk(ByteStream& stream, MutableByteView into, Pulse& pulse);
  // Until the cap lets so many bytes in nothing is asked.
  Awaitable<> await_turn(std::uint64_t bytes, Pulse& pulse);
  Awaitable<Result<Bytes>> make_buffer(std::uint64_t bytes);
  Error bad_chunk(std::uint64_t index);

  // How many chunks one request is for at most, and how many one answer holds.
  [[nodiscard]] static std::uint64_t chunks_at_once(std::optional<RateCap> const& cap);

  void note_rate(BlobTransfer const& transfer);
  void suspend(BlobTransfer& transfer);
  [[nodiscard]] bool make_room(std::uint64_t bytes);
  [[nodiscard]] std::uint64_t suspended_bytes() const;
  [[nodiscard]] Instant now() const { return doors.clock.now(); }
};

}  // namespace grapevine
