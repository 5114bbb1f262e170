#include "grapevine/kernels/error_feedback.hpp"

#include "grapevine/base/assert.hpp"
#include "kernels/codec_arithmetic_detail.hpp"

#include <algorithm>

namespace grapevine {
namespace {

// error <- beta error + delta; false when one of them is not finite.
bool add_up(std::span<float> error, float beta, std::span<float const> delta) {
  std::int32_t largest = 0;
  for (std::size_t i = 0; i < error.size(); ++i) {
    error[i] = beta * error[i] + delta[i];
    largest = std::max(largest, codec_detail::magnitude(error[i]));
  }
  return largest < codec_detail::infinity_magnitude;
}

}  // namespace

ErrorFeedback::ErrorFeedback(CodecSettings const& settings, float beta, std::size_t elements)
    : settings_(settings), beta_(beta), error_(elements) {
  ASSERT(check_settings(settings).has_value());
  ASSERT(beta >= 0 && beta <= 1);
}

Result<std::shared_ptr<Bytes const>> ErrorFeedback::encode(std::span<float const> delta) {
  ASSERT(!open());
  ASSERT(delta.size() == error_.size());
  auto sum = error_;
  if (!add_up(sum, beta_, delta))
    return fail(Errc::not_finite, "in a delta or its sum with the error kept of earlier ones");
  auto encoded = std::make_shared<Bytes>(encoded_bytes(settings_, sum.size()));
  auto const done = grapevine::encode(settings_, sum, *encoded);
  ASSERT(done.has_value());
  sum_ = std::move(sum);
  sent_ = std::move(encoded);
  return sent_;
}

void ErrorFeedback::commit() {
  ASSERT(open());
  // Piece by piece, so that the decoded values never leave the cache.
  std::size_t const group = group_elements(settings_);
  std::size_t const piece = 4 * codec_detail::group_max / group * group;
  std::vector<float> decoded(std::min(piece, sum_.size()));
  ByteView encoded = *sent_;
  for (std::span<float> left = sum_; !left.empty();) {
    auto const here = std::span(decoded).first(std::min(piece, left.size()));
    std::size_t const bytes = encoded_bytes(settings_, here.size());
    auto const done = decode(settings_, encoded.first(bytes), here);
    ASSERT(done.has_value());
    for (std::size_t i = 0; i < here.size(); ++i) left[i] -= here[i];
    left = left.subspan(here.size());
    encoded = encoded.subspan(bytes);
  }
  discard();
}

void ErrorFeedback::discard() {
  ASSERT(open());
  error_ = std::move(sum_);
  undo();
}

void ErrorFeedback::undo() {
  sum_ = {};
  sent_ = nullptr;
}

void ErrorFeedback::reset() {
  std::ranges::fill(error_, 0.0F);
  undo();
}

}  // namespace grapevine
