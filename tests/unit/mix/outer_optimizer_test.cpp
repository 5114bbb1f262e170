#include "grapevine/mix/outer_optimizer.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace grapevine;

TEST_CASE("two Nesterov steps by hand") {
  // lr 0.5, mu 0.5. Step 1: v = 1, z = 10 - 0.5 (1 + 0.5) = 9.25.
  // Step 2 with gradient 2: v = 0.5 + 2 = 2.5, z = 9.25 - 0.5 (2 + 1.25) = 7.625.
  OuterSettings const settings{0.5F, 0.5F, true};
  std::vector<float> z{10}, v{0};
  outer_step(settings, std::vector<float>{1}, v, z);
  CHECK(z[0] == 9.25F);
  outer_step(settings, std::vector<float>{2}, v, z);
  CHECK(v[0] == 2.5F);
  CHECK(z[0] == 7.625F);
}

TEST_CASE("learning rate 1 without momentum takes the averaged parameters") {
  std::vector<float> z{3, 4}, v{0, 0};
  outer_step({1, 0, true}, std::vector<float>{1, -1}, v, z);
  CHECK(z == std::vector<float>{2, 5});
}

TEST_CASE("heavy ball steps by the momentum") {
  std::vector<float> z{1}, v{2};
  outer_step({0.1F, 0.5F, false}, std::vector<float>{1}, v, z);
  CHECK(v[0] == 2);
  CHECK(z[0] == doctest::Approx(0.8F));
}
