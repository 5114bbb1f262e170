#include "node/claimed_tokens_detail.hpp"

#include <doctest/doctest.h>

#include "grapevine/base/limits.hpp"
#include "unit/wire/samples.hpp"

using namespace grapevine;

TEST_CASE("a peer may claim the tokens of four rounds, and one for its parameters") {
  auto const run = samples::manifest();
  std::uint64_t const round = std::uint64_t{run.inner_steps} * run.inner.batch * run.model.context;
  for (auto const lane : {MixLane::gradients, MixLane::joint}) {
    CHECK(check_claimed_tokens(run, lane, 0).has_value());
    CHECK(check_claimed_tokens(run, lane, 4 * round).has_value());
    CHECK(check_claimed_tokens(run, lane, 4 * round + 1).error().errc() == Errc::limit_exceeded);
    CHECK_FALSE(check_claimed_tokens(run, lane, limits::round_tokens_max).has_value());
  }
  CHECK(check_claimed_tokens(run, MixLane::parameters, 1).has_value());
  CHECK_FALSE(check_claimed_tokens(run, MixLane::parameters, 2).has_value());
}
