// BlobTransfer: one blob on its way to us. It knows which chunks are there, which are missing and
// which are being fetched, and checks each against its leaf; it does no I/O. Shared by the fetches
// that wait for the blob and the tasks that pull it. Loop thread only.
#pragma once

#include "blob_stream_detail.hpp"
#include "grapevine/runtime/gate.hpp"

#include <optional>
#include <set>

namespace grapevine {

// What is worth keeping of a transfer that was not finished.
struct PartialBlob {
  std::vector<Hash> leaves;
  Bytes data;
  std::set<std::uint64_t> missing;
};

class BlobTransfer {
 public:
  BlobTransfer(BlobRef ref, Instant now) : ref_(ref), started_(now) {}

  void resume(PartialBlob partial, std::uint64_t bytes);
  [[nodiscard]] PartialBlob suspend();
  [[nodiscard]] Blob take();  // once complete

  // The leaves, when `root` is theirs and their number fits the size.
  Result<> check_leaves(std::span<Hash const> leaves, std::uint64_t bytes) const;
  void describe(std::vector<Hash> leaves, Bytes data);  // checked; all chunks are missing
  [[nodiscard]] bool described() const { return !leaves_.empty(); }

  // Up to `count` missing chunks in a row, no longer missing; nothing when none is.
  struct Claim {
    std::uint64_t first = 0;
    std::uint64_t count = 0;
  };
  [[nodiscard]] Claim claim(std::uint64_t count);
  void claim_one(std::uint64_t index);
  void give_back(Claim claim);
  // Where chunk `index` is to be read to.
  [[nodiscard]] MutableByteView place(std::uint64_t index);
  // Chunks that are what their leaves say count; the others are missing again. The first of those.
  [[nodiscard]] std::optional<std::uint64_t> accept(Claim chunks, PeerId const& from);
  [[nodiscard]] bool complete() const { return described() && there_ == leaves_.size(); }
  [[nodiscard]] std::uint64_t missing() const { return missing_.size(); }
  [[nodiscard]] std::uint64_t there() const { return there_; }
  [[nodiscard]] std::vector<Hash> const& leaves() const { return leaves_; }
  [[nodiscard]] std::uint64_t size() const { return data_.size(); }
  [[nodiscard]] BlobRef const& ref() const { return ref_; }
  [[nodiscard]] Instant started() const { return started_; }
  [[nodiscard]] std::string progress() const;  // "3 of 8 chunks"

  // Holders: each is tried once in a transfer.
  void offer(std::vector<PeerId> const& holders);
  [[nodiscard]] std::optional<PeerId> next_holder();
  [[nodiscard]] bool has_holder() const { return !waiting_.empty(); }
  void forget_tries() { tried_.clear(); }

  BlobExchange::FetchReport report;
  std::optional<Result<Blob>> result;
  Gate changed;  // something of this object did
  std::size_t waiters = 0;
  bool running = false;      // a task drives it
  std::size_t pulling = 0;   // tasks
  Duration silence_max{};    // of a holder, before it is given up
  bool describing = false;   // one of them asks for the leaves
  std::string last_failure;  // of a holder

 private:
  BlobRef ref_;
  Instant started_;
  std::vector<Hash> leaves_;
  Bytes data_;
  std::set<std::uint64_t> missing_;
  std::uint64_t there_ = 0;
  std::vector<PeerId> waiting_;
  std::set<PeerId> tried_;
};

}  // namespace grapevine
