// The rules that values of messages must satisfy, in words that name the field. What decodes has
// passed them, and what we sign must pass them too.
#pragma once

#include "grapevine/wire/blob_ref.hpp"

#include <optional>
#include <span>

namespace grapevine::policy {

[[nodiscard]] Result<> require(bool good, std::string_view what);  // Errc::malformed
// Errc::oversize
[[nodiscard]] Result<> at_most(std::string_view what, std::uint64_t value, std::uint64_t max);
[[nodiscard]] Result<> finite(std::string_view what, double value);
[[nodiscard]] Result<> amount(std::string_view what, double value);  // finite, not negative
// Printable UTF-8 of at most `max` bytes.
[[nodiscard]] Result<> text(std::string_view what, std::string_view value, std::size_t max);
// The number of a round that can be trained: a state may be one further.
[[nodiscard]] Result<> round(std::string_view what, std::uint64_t value);
// A blob a shard: 1 to `max`, each of a size that can be pulled.
[[nodiscard]] Result<> shards(std::string_view what, std::span<BlobRef const> refs,
                              std::size_t max);

// The encoded answer to a probe batch: absent, or of a size that one can have.
[[nodiscard]] Result<> probe(std::string_view what, std::optional<BlobRef> const& ref);

template <class Enum>
[[nodiscard]] Result<> known(std::string_view what, Enum value, Enum last) {
  return at_most(what, static_cast<std::uint64_t>(value), static_cast<std::uint64_t>(last));
}

// Strictly increasing by peer, nobody left out of the comparison: `peers` not empty ids.
template <class Items>
[[nodiscard]] Result<> ordered_by_peer(std::string_view what, Items const& items) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i].peer.empty()) return require(false, std::string(what) + " without a peer");
    if (i > 0 && !(items[i - 1].peer < items[i].peer))
      return require(false, std::string(what) + " not strictly increasing by peer");
  }
  return {};
}

}  // namespace grapevine::policy
