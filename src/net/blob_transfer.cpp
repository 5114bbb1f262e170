#include "blob_transfer_detail.hpp"

#include "grapevine/base/assert.hpp"
#include "grapevine/crypto/merkle.hpp"

#include <fmt/core.h>

namespace grapevine {

void BlobTransfer::resume(PartialBlob partial, std::uint64_t bytes) {
  ASSERT(!described());
  ASSERT(partial.data.size() == bytes);
  leaves_ = std::move(partial.leaves);
  data_ = std::move(partial.data);
  missing_ = std::move(partial.missing);
  there_ = leaves_.size() - missing_.size();
  for (std::uint64_t i = 0; i < leaves_.size(); ++i)
    if (!missing_.contains(i)) report.resumed += blob::chunk_range(bytes, i).size;
}

PartialBlob BlobTransfer::suspend() {
  return {leaves_, std::move(data_), std::move(missing_)};  // progress() is still asked for
}

Blob BlobTransfer::take() {
  ASSERT(complete());
  return std::make_shared<Bytes const>(std::move(data_));
}

Result<> BlobTransfer::check_leaves(std::span<Hash const> leaves, std::uint64_t bytes) const {
  if (ref_.bytes != 0 && ref_.bytes != bytes)
    return fail(Errc::hash_mismatch,
                fmt::format("blob of {} bytes where {} were announced", bytes, ref_.bytes));
  if (leaves.size() != blob::chunks_of(bytes))
    return fail(Errc::hash_mismatch, fmt::format("{} leaves for {} bytes", leaves.size(), bytes));
  if (merkle_root(leaves) != ref_.root) return fail(Errc::hash_mismatch, "leaves of another blob");
  return {};
}

void BlobTransfer::describe(std::vector<Hash> leaves, Bytes data) {
  ASSERT(!described());
  leaves_ = std::move(leaves);
  data_ = std::move(data);
  ASSERT(leaves_.size() == blob::chunks_of(data_.size()));
  for (std::uint64_t i = 0; i < leaves_.size(); ++i) missing_.insert(missing_.end(), i);
  changed.notify_all();
}

BlobTransfer::Claim BlobTransfer::claim(std::uint64_t count) {
  ASSERT(count > 0);
  if (missing_.empty()) return {};
  Claim out{*missing_.begin(), 0};
  while (out.count < count && missing_.erase(out.first + out.count) > 0) ++out.count;
  return out;
}

void BlobTransfer::claim_one(std::uint64_t index) {
  auto const erased = missing_.erase(index);
  ASSERT(erased == 1);
}

void BlobTransfer::give_back(Claim claim) {
  for (std::uint64_t i = 0; i < claim.count; ++i) missing_.insert(claim.first + i);
  if (claim.count > 0) changed.notify_all();
}

MutableByteView BlobTransfer::place(std::uint64_t index) {
  auto const range = blob::chunk_range(data_.size(), index);
  return MutableByteView(data_).subspan(range.offset, range.size);
}

// A chunk takes some 150 µs to hash, many together half of that each: short enough for the loop,
// and a queue behind other heavy work would make the link wait.
std::optional<std::uint64_t> BlobTransfer::accept(Claim chunks, PeerId const& from) {
  if (chunks.count == 0) return std::nullopt;
  auto const begin = place(chunks.first);
  auto const end = place(chunks.first + chunks.count - 1);
  auto const size = static_cast<std::size_t>(end.data() + end.size() - begin.data());
  auto const leaves = merkle_leaves({begin.data(), size}, limits::blob_chunk_bytes);
  std::optional<std::uint64_t> bad;
  for (std::uint64_t i = 0; i < chunks.count; ++i) {
    auto const index = chunks.first + i;
    if (leaves[i] != leaves_[index]) {
      missing_.insert(index);
      if (!bad) bad = index;
      continue;
    }
    auto const bytes = blob::chunk_range(data_.size(), index).size;
    ++there_;
    report.bytes += bytes;
    report.from[from] += bytes;
  }
  if (complete() || bad) changed.notify_all();
  return bad;
}

std::string BlobTransfer::progress() const {
  return fmt::format("{} of {} chunks", there_, leaves_.size());
}

void BlobTransfer::offer(std::vector<PeerId> const& holders) {
  for (auto const& holder : holders)
    if (tried_.insert(holder).second) waiting_.push_back(holder);
  changed.notify_all();
}

std::optional<PeerId> BlobTransfer::next_holder() {
  if (waiting_.empty()) return std::nullopt;
  auto const next = waiting_.front();
  waiting_.erase(waiting_.begin());
  return next;
}

}  // namespace grapevine
