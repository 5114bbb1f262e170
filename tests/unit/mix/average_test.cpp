#include "grapevine/mix/average.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

using namespace grapevine;

namespace {

std::vector<std::vector<float>> vectors(std::size_t count, std::size_t elements) {
  std::vector<std::vector<float>> all;
  for (std::size_t i = 0; i < count; ++i)
    all.push_back(*rc::gen::container<std::vector<float>>(
        elements,
        rc::gen::map(rc::gen::inRange(-100000, 100000), [](int v) { return v * 1e-3F; })));
  return all;
}

}  // namespace

TEST_CASE("the average weighs by tokens") {
  std::vector<float> const a{1, 2}, b{4, 8};
  std::vector<float> out(2);
  std::vector<WeightedInput> const inputs{{a, 100}, {b, 300}};
  weighted_average(inputs, out);
  CHECK(out == std::vector<float>{0.25F * 1 + 0.75F * 4, 0.25F * 2 + 0.75F * 8});
}

TEST_CASE("an average of one input is that input, of equal inputs too") {
  std::vector<float> const a{0.1F, -3.7F, 1e-30F};
  std::vector<float> out(3);
  weighted_average(std::vector<WeightedInput>{{a, 17}}, out);
  CHECK(out == a);
  weighted_average(std::vector<WeightedInput>{{a, 5}, {a, 5}, {a, 5}, {a, 5}}, out);
  CHECK(out == a);
}

TEST_CASE("the average is near the one computed in double") {
  CHECK(rc::check("against double", [] {
    auto const count = *rc::gen::inRange<std::size_t>(1, 9);
    auto const all = vectors(count, 16);
    std::vector<WeightedInput> inputs;
    double total = 0;
    for (auto const& v : all) {
      inputs.push_back({v, static_cast<double>(*rc::gen::inRange(1, 100000))});
      total += inputs.back().weight;
    }
    std::vector<float> out(16);
    weighted_average(inputs, out);
    for (std::size_t i = 0; i < out.size(); ++i) {
      double expected = 0;
      for (auto const& input : inputs) expected += input.weight / total * input.values[i];
      RC_ASSERT(std::abs(out[i] - expected) <= 1e-4);
    }
  }));
}

TEST_CASE("a pair average is the same on both sides and keeps the mean") {
  CHECK(rc::check("symmetric", [] {
    auto const all = vectors(2, 32);
    std::vector<float> out(32);
    pair_average(all[0], all[1], out);
    for (std::size_t i = 0; i < out.size(); ++i)
      RC_ASSERT(std::abs(2 * out[i] - (all[0][i] + all[1][i])) <= 1e-4F);
  }));
}

TEST_CASE("not-finite values are found wherever they are") {
  for (float const bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
        -std::numeric_limits<float>::infinity()})
    for (std::size_t at = 0; at < 41; ++at) {
      std::vector<float> values(41, std::numeric_limits<float>::max());
      CHECK(all_finite(values));
      values[at] = bad;
      CHECK_FALSE(all_finite(values));
    }
}

TEST_CASE("a squared norm is the sum of the squares, whatever the length") {
  std::vector<float> values;
  double wanted = 0;
  for (std::size_t i = 0; i < 40; ++i) {
    CHECK(squared_norm(values) == wanted);  // whole numbers: exact in any order
    values.push_back(static_cast<float>(i) - 17);
    wanted += (static_cast<double>(i) - 17) * (static_cast<double>(i) - 17);
  }
}
