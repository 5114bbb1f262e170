#include "grapevine/base/portable_math.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cmath>
#include <numbers>

using namespace grapevine;

TEST_CASE("portable functions agree with libm") {
  CHECK(rc::check("exp, log and cosine", [] {
    double const x = *rc::gen::inRange(-600'000, 600'000) / 1000.0;
    double const unit = *rc::gen::inRange(0, 100'001) / 100'000.0;
    RC_ASSERT(std::abs(portable::exp(x) / std::exp(x) - 1) < 1e-11);
    RC_ASSERT(std::abs(portable::log(std::exp(x)) - x) < 1e-10);
    RC_ASSERT(std::abs(portable::cos_pi(unit) - std::cos(std::numbers::pi * unit)) < 1e-11);
  }));
  CHECK(portable::power(0.9, 5) == doctest::Approx(std::pow(0.9, 5)));
  CHECK(portable::power(0.9, 0) == 1.0);
}
