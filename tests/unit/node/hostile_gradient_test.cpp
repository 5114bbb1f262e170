// Gradients of peers that are finite, and so large that what is made of them would not be.
#include "node/mixed_state_detail.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

using namespace grapevine;

namespace {

constexpr float largest = std::numeric_limits<float>::max();
constexpr OuterSettings settings{0.7F, 0.9F, true};

Blob blob_of(std::vector<float> const& values) {
  auto const* const bytes = reinterpret_cast<std::uint8_t const*>(values.data());
  return std::make_shared<Bytes const>(bytes, bytes + values.size() * sizeof(float));
}
float first_of(HashedBlob const& shard) { return floats_of(*shard.blob).front(); }

}  // namespace

TEST_CASE("an average that would make the state infinite moves nothing") {
  std::vector<float> const start{1, 1, 1, 1};
  auto const state = make_state({}, 0, 2, start, {});
  std::vector<Blob> const results{blob_of({largest, 0}), blob_of({0.5F, 0.5F})};
  auto const next = apply_results(*state, settings, results);
  CHECK(next->round == 1);
  CHECK(all_finite(*next));
  CHECK(first_of(next->parameters[0]) == 1);
  CHECK(first_of(next->momentum[0]) == 0);
  CHECK(first_of(next->parameters[1]) == doctest::Approx(1 - 0.7 * 1.9 * 0.5));
}

TEST_CASE("a gradient whose norm no message can carry is refused, ours and a partner's") {
  std::vector<float> const zeros(4), large(4, largest), halves(4, largest / 2);
  auto const check = [](Blob const& gradient) {
    return norm_of_side(MixLane::gradients, {gradient}, 1);
  };
  auto const refused = check(blob_of(large));
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().errc() == Errc::not_finite);
  CHECK(check(blob_of(halves)).value() == doctest::Approx(largest));

  auto const ours = outer_gradient(large, zeros, 1);
  REQUIRE_FALSE(ours.has_value());
  CHECK(ours.error().errc() == Errc::not_finite);
}

TEST_CASE("a state with one value that is not a number is not all finite") {
  std::vector<float> const fine{1, 2};
  std::vector<float> const broken{1, std::nanf("")};
  CHECK(all_finite(*make_state({}, 0, 1, fine, {})));
  CHECK_FALSE(all_finite(*make_state({}, 0, 1, broken, {})));
  CHECK_FALSE(all_finite(*make_state({}, 0, 1, fine, broken)));
}
