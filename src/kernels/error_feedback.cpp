#include "grapevine/kernels/error_feedback.hpp"

#include "grapevine/base/assert.hpp"
#include "kernels/codec_arithmetic_detail.hpp"

#include <algorithm>

namespace grapevine {
namespace {

bool sum_is_finite(std::span<float const> error, float beta, std::span<float const> delta) {
  std::int32_t largest = 0;
  for (std::size_t i = 0; i < error.size(); ++i)
    largest = std::max(largest, codec_detail::magnitude(beta * error[i] + delta[i]));
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
  if (!sum_is_finite(error_, beta_, delta))
    return fail(Errc::not_finite, "in a delta or its sum with the error kept of earlier ones");
  for (std::size_t i = 0; i < error_.size(); ++i) error_[i] = beta_ * error_[i] + delta[i];
  auto encoded = std::make_shared<Bytes>(encoded_bytes(settings_, error_.size()));
  auto const done = grapevine::encode(settings_, error_, *encoded);
  ASSERT(done.has_value());
  sent_ = std::move(encoded);
  return sent_;
}

void ErrorFeedback::commit() {
  ASSERT(open());
  // Piece by piece, so that the decoded values never leave the cache.
  std::size_t const group = group_elements(settings_);
  std::size_t const piece = 4 * codec_detail::group_max / group * group;
  std::vector<float> decoded(std::min(piece, error_.size()));
  ByteView encoded = *sent_;
  for (std::span<float> error = error_; !error.empty();) {
    auto const here = std::span(decoded).first(std::min(piece, error.size()));
    std::size_t const bytes = encoded_bytes(settings_, here.size());
    auto const done = decode(settings_, encoded.first(bytes), here);
    ASSERT(done.has_value());
    for (std::size_t i = 0; i < here.size(); ++i) error[i] -= here[i];
    error = error.subspan(here.size());
    encoded = encoded.subspan(bytes);
  }
  sent_ = nullptr;
}

void ErrorFeedback::discard() {
  ASSERT(open());
  sent_ = nullptr;
}

void ErrorFeedback::reset() {
  std::ranges::fill(error_, 0.0F);
  sent_ = nullptr;
}

}  // namespace grapevine
