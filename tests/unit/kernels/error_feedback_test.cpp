#include "grapevine/kernels/error_feedback.hpp"
#include "unit/kernels/codec_samples.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <limits>

using namespace grapevine;

namespace {

void add(std::vector<double>& sum, std::span<float const> values) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += values[i];
}

double farthest(std::span<double const> a, std::span<float const> b) {
  double distance = 0;
  for (std::size_t i = 0; i < b.size(); ++i) distance = std::max(distance, std::abs(a[i] - b[i]));
  return distance;
}

}  // namespace

TEST_CASE("nothing is lost and nothing counts twice, whatever is delivered") {
  CHECK(rc::check("delivered plus error is the sum of the deltas", [] {
    auto const& settings = *rc::gen::elementOf(
        std::vector<CodecSettings>(std::begin(all_codecs), std::end(all_codecs)));
    auto const elements = *rc::gen::inRange<std::size_t>(1, 40000);
    auto const deliveries = *rc::gen::container<std::vector<bool>>(rc::gen::arbitrary<bool>());
    ErrorFeedback feedback(settings, 1, elements);
    std::vector<double> given(elements), left(elements);
    std::uint64_t seed = 0;
    for (bool const delivered : deliveries) {
      auto const delta = normal_values(elements, ++seed);
      auto const sent = feedback.encode(delta);
      RC_ASSERT(sent.has_value());
      add(given, delta);
      if (delivered) {
        auto const received = decoded(settings, **sent, elements).value();
        for (std::size_t i = 0; i < elements; ++i) left[i] += received[i];
        feedback.commit();
      } else {
        feedback.discard();
      }
    }
    for (std::size_t i = 0; i < elements; ++i) left[i] = given[i] - left[i];
    RC_ASSERT(farthest(left, feedback.error()) <= 1e-5 * static_cast<double>(1 + seed * seed));
  }));
}

TEST_CASE("the error fades by beta, delivered or not") {
  CHECK(rc::check("e' = beta e + delta - sent", [] {
    constexpr std::size_t elements = 5000;
    constexpr CodecSettings settings{.codec = Codec::topk};
    auto const deliveries = *rc::gen::container<std::vector<bool>>(rc::gen::arbitrary<bool>());
    ErrorFeedback feedback(settings, 0.95F, elements);
    std::vector<double> expected(elements);
    std::uint64_t seed = 0;
    for (bool const delivered : deliveries) {
      auto const delta = normal_values(elements, ++seed);
      auto const sent = feedback.encode(delta);
      RC_ASSERT(sent.has_value());
      auto const received = decoded(settings, **sent, elements).value();
      for (std::size_t i = 0; i < elements; ++i)
        expected[i] = double{0.95F} * expected[i] + delta[i] - (delivered ? received[i] : 0.0F);
      delivered ? feedback.commit() : feedback.discard();
    }
    RC_ASSERT(farthest(expected, feedback.error()) <= 1e-4);
  }));
}

TEST_CASE("what was left out is sent in the end") {
  constexpr std::size_t elements = 4096;
  auto const delta = normal_values(elements, 1);
  std::vector<float> const nothing(elements);
  ErrorFeedback feedback({.codec = Codec::topk}, 1, elements);
  auto const norm = [](std::span<float const> values) {
    double squares = 0;
    for (float const value : values) squares += double{value} * double{value};
    return std::sqrt(squares);
  };
  for (int round = 0; round < 120; ++round) {  // the 64 rounds that it takes at least, and some
    REQUIRE(feedback.encode(round == 0 ? delta : nothing).has_value());
    feedback.commit();
  }
  CHECK(norm(feedback.error()) < 0.15 * norm(delta));
}

TEST_CASE("a delta that is not finite, or a sum that is not, changes nothing") {
  ErrorFeedback feedback({.codec = Codec::int8}, 1, 1000);
  REQUIRE(feedback.encode(std::vector<float>(1000, FLT_MAX)).has_value());
  feedback.discard();
  std::vector<float> const before(feedback.error().begin(), feedback.error().end());
  CHECK(before == std::vector<float>(1000, FLT_MAX));
  for (float const bad : {FLT_MAX, std::numeric_limits<float>::quiet_NaN()}) {
    std::vector<float> delta(1000, 0.0F);
    delta[777] = bad;
    auto const sent = feedback.encode(delta);
    REQUIRE_FALSE(sent.has_value());
    CHECK(sent.error().errc() == Errc::not_finite);
    CHECK_FALSE(feedback.open());
    CHECK(std::ranges::equal(feedback.error(), before));
  }
}

TEST_CASE("a delivery is open until it is committed, discarded or forgotten") {
  ErrorFeedback feedback({.codec = Codec::int4}, 1, 10);
  auto const delta = normal_values(10, 1);
  CHECK_FALSE(feedback.open());
  auto const sent = feedback.encode(delta);
  REQUIRE(sent.has_value());
  CHECK(feedback.open());
  CHECK(std::ranges::equal(feedback.error(), std::vector<float>(10)));
  feedback.discard();
  CHECK(std::ranges::equal(feedback.error(), delta));
  REQUIRE(feedback.encode(delta).has_value());
  feedback.undo();
  CHECK_FALSE(feedback.open());
  CHECK(std::ranges::equal(feedback.error(), delta));
  REQUIRE(feedback.encode(delta).has_value());
  feedback.commit();
  CHECK_FALSE(feedback.open());
  REQUIRE(feedback.encode(delta).has_value());
  feedback.reset();
  CHECK_FALSE(feedback.open());
  CHECK(std::ranges::all_of(feedback.error(), [](float e) { return e == 0; }));
  CHECK((*sent)->size() ==
        encoded_bytes({.codec = Codec::int4}, 10));  // still whoever's who took it
}
