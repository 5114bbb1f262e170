#include "grapevine/round/norm_bound.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <functional>

using namespace grapevine;

namespace {

std::vector<bool> judged(std::vector<GradientClaim> const& claims) {
  return within_norm_bound(claims);
}

}  // namespace

TEST_CASE("a gradient far larger than the others' is left out, and no other") {
  CHECK(judged({}).empty());
  CHECK(judged({{100, 5}}) == std::vector{true});
  CHECK(judged({{100, 5}, {100, 51}}) == std::vector{true, false});
  CHECK(judged({{100, 5}, {100, 49}}) == std::vector{true, true});
  CHECK(judged({{100, 5}, {100, 1e15}, {100, 6}}) == std::vector{true, false, true});
  // Two large ones hide behind each other no longer than there are more of the others.
  CHECK(judged({{100, 5}, {100, 1e15}, {100, 6}, {100, 1e15}}) ==
        std::vector{true, false, true, false});
  CHECK(judged({{100, 5}, {100, 100}, {100, 6}, {100, 900}}) ==
        std::vector{true, false, true, false});
}

TEST_CASE("who trained for longer may have come further") {
  CHECK(judged({{100, 5}, {10'000, 400}}) == std::vector{true, true});
  CHECK(judged({{100, 5}, {10'000, 50'000}}) == std::vector{true, false});
  // And who trained for a moment may have taken a large first step.
  CHECK(judged({{10'000, 5}, {1, 4}, {10'000, 6}}) == std::vector{true, true, true});
}

TEST_CASE("the judgement is of the list alone") {
  CHECK(rc::check("order does not matter, and what stays would stay", [] {
    auto const count = *rc::gen::inRange<std::size_t>(1, 20);
    std::vector<GradientClaim> claims;
    for (std::size_t i = 0; i < count; ++i)
      claims.push_back(
          {*rc::gen::inRange<std::uint64_t>(1, 1000), std::pow(10.0, *rc::gen::inRange(-3, 12))});
    auto const stays = judged(claims);
    auto backwards = claims;
    std::ranges::reverse(backwards);
    auto mirrored = judged(backwards);
    std::reverse(mirrored.begin(), mirrored.end());
    RC_ASSERT(mirrored == stays);
    std::vector<GradientClaim> left;
    for (std::size_t i = 0; i < count; ++i)
      if (stays[i]) left.push_back(claims[i]);
    RC_ASSERT(!left.empty());
    RC_ASSERT(std::ranges::all_of(judged(left), std::identity{}));
  }));
}
