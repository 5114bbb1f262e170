#include "policy_detail.hpp"

#include "grapevine/base/limits.hpp"
#include "grapevine/wire/text.hpp"

#include <cmath>

namespace grapevine::policy {

Result<> require(bool good, std::string_view what) {
  if (!good) return fail(Errc::malformed, std::string(what));
  return {};
}

Result<> at_most(std::string_view what, std::uint64_t value, std::uint64_t max) {
  if (value > max)
    return fail(Errc::oversize, std::string(what) + ": " + std::to_string(value) + ", at most " +
                                    std::to_string(max));
  return {};
}

Result<> finite(std::string_view what, double value) {
  return require(std::isfinite(value), std::string(what) + " is not finite");
}

Result<> amount(std::string_view what, double value) {
  TRY(finite(what, value));
  return require(value >= 0, std::string(what) + " is negative");
}

Result<> text(std::string_view what, std::string_view value, std::size_t max) {
  TRY(at_most(std::string(what) + " in bytes", value.size(), max));
  return require(is_printable_utf8(value), std::string(what) + " is not printable text");
}

Result<> round(std::string_view what, std::uint64_t value) {
  return at_most(std::string(what) + " round", value, limits::rounds_max - 1);
}

Result<> shards(std::string_view what, std::span<BlobRef const> refs, std::size_t max) {
  TRY(require(!refs.empty(), "no " + std::string(what)));
  TRY(at_most(what, refs.size(), max));
  for (auto const& ref : refs) {
    TRY(at_most(std::string(what) + " in bytes", ref.bytes, limits::blob_bytes_max));
  }
  return {};
}

Result<> probe(std::string_view what, std::optional<BlobRef> const& ref) {
  return ref ? at_most(std::string(what) + " in bytes", ref->bytes, limits::probe_answer_bytes_max)
             : Result<>{};
}

}  // namespace grapevine::policy
