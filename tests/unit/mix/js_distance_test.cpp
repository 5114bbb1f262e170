#include "grapevine/mix/js_distance.hpp"

#include "grapevine/base/random.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cmath>

using namespace grapevine;

namespace {

using Logits = std::vector<float>;

Logits random_logits(SeededRandom& random, std::size_t vocab, double spread) {
  Logits logits(vocab);
  for (auto& logit : logits) logit = static_cast<float>((2 * random.unit() - 1) * spread);
  return logits;
}

// As a model computes it: every value is rounded to fp32.
std::vector<float> log_softmax(Logits const& logits) {
  float const highest = std::ranges::max(logits);
  float sum = 0;
  for (float const logit : logits) sum += std::exp(logit - highest);
  std::vector<float> logs;
  for (float const logit : logits) logs.push_back(logit - highest - std::log(sum));
  return logs;
}

ProbeAnswer answer(std::vector<Logits> const& rows) {
  ProbeAnswer made;
  made.vocab = static_cast<std::uint32_t>(rows.front().size());
  for (auto const& row : rows) REQUIRE(append_row(made, log_softmax(row)).has_value());
  return made;
}

double distance(std::vector<Logits> const& a, std::vector<Logits> const& b) {
  return js_distance(answer(a), answer(b)).value();
}

template <class Float>
Float entropy(std::vector<Float> const& p) {
  Float sum = 0;
  for (Float const x : p) sum -= x > 0 ? x * std::log2(x) : 0;
  return sum;
}

// The formula with entropies, over whole distributions.
template <class Float>
Float by_entropies(std::vector<Float> const& p, std::vector<Float> const& q) {
  std::vector<Float> m(p.size());
  for (std::size_t i = 0; i < p.size(); ++i) m[i] = (p[i] + q[i]) / 2;
  return std::sqrt(std::max(Float{0}, entropy(m) - (entropy(p) + entropy(q)) / 2));
}

std::vector<double> softmax(Logits const& logits) {
  std::vector<double> p;
  double sum = 0;
  for (float const logit : logits) sum += p.emplace_back(std::exp(double{logit}));
  for (auto& x : p) x /= sum;
  return p;
}

double full_distance(Logits const& a, Logits const& b) {
  return by_entropies(softmax(a), softmax(b));
}

Logits moved(Logits const& from, SeededRandom& random, double by) {
  auto to = from;
  for (auto& logit : to) logit += static_cast<float>((2 * random.unit() - 1) * by);
  return to;
}

}  // namespace

TEST_CASE("where every token is listed the distance is exact") {
  CHECK(rc::check("against entropies in double", [](std::uint64_t seed) {
    SeededRandom random(seed);
    auto const vocab = 2 + random.below(63);
    auto const a = random_logits(random, vocab, 10 * random.unit());
    auto const b = random_logits(random, vocab, 10 * random.unit());
    RC_ASSERT(std::abs(distance({a}, {b}) - full_distance(a, b)) < 1e-5);
    // Rows count the same.
    auto const two = distance({a, a}, {b, a});
    RC_ASSERT(std::abs(two - distance({a}, {b}) / 2) < 1e-12);
  }));
}

TEST_CASE("two certain models of other minds are one bit apart, of one mind not at all") {
  Logits const heads{200, 0}, tails{0, 200};
  CHECK(distance({heads}, {tails}) == 1);
  CHECK(distance({heads}, {heads}) == 0);
  // Certain against undecided: JSD = h(1/4) - 1/2 = 0.3112781 bits.
  Logits const undecided{0, 0};
  CHECK(distance({heads}, {undecided}) == doctest::Approx(std::sqrt(0.3112781)).epsilon(1e-6));
}

TEST_CASE("of a large vocabulary it is a lower bound, in [0, 1] and the same for both sides") {
  CHECK(rc::check("against entropies in double", [](std::uint64_t seed) {
    SeededRandom random(seed);
    auto const vocab = 65 + random.below(300);
    auto const spread = 12 * random.unit();
    auto const a = random_logits(random, vocab, spread);
    auto const b = moved(a, random, 12 * random.unit());
    auto const one = answer({a}), other = answer({b});
    double const d = js_distance(one, other).value();
    RC_ASSERT(d >= 0 && d <= 1);
    RC_ASSERT(d == js_distance(other, one).value());
    RC_ASSERT(d <= full_distance(a, b) + 1e-5);
    RC_ASSERT(js_distance(one, one).value() == 0);
  }));
}

TEST_CASE("the bound says most of it, also where the lists differ") {
  SeededRandom random(7);
  auto const kept_of_it = [&](double spread, double by) {
    double bound = 0, full = 0;
    for (int i = 0; i < 50; ++i) {
      auto const a = random_logits(random, 256, spread);
      auto const b = moved(a, random, by);
      bound += distance({a}, {b});
      full += full_distance(a, b);
    }
    MESSAGE("spread " << spread << ", moved by " << by << ": " << bound << " of " << full);
    return bound / full;
  };
  CHECK(kept_of_it(10, 0.2) > 0.98);
  CHECK(kept_of_it(10, 2) > 0.98);
  CHECK(kept_of_it(10, 10) > 0.98);
}

TEST_CASE("lists without a common token are far apart, as far as the rest allows") {
  Logits a(256, 0.0F), b(256, 0.0F);
  for (std::size_t i = 0; i < 64; ++i) a[i] = b[255 - i] = 6;
  CHECK(distance({a}, {b}) > 0.9);
  CHECK(distance({a}, {b}) <= full_distance(a, b) + 1e-6);
}

// Softmax does not change when all logits move together; its rounding does.
TEST_CASE("rounding in fp32 is not a distance") {
  SeededRandom random(3);
  double here = 0, with_entropies = 0;
  for (int i = 0; i < 100; ++i) {
    auto const a = random_logits(random, 64, 8);
    auto b = a;
    for (auto& logit : b) logit += 17.3F;
    here = std::max(here, distance({a}, {b}));
    auto const probabilities = [](std::vector<float> logs) {
      for (auto& log : logs) log = std::exp(log);
      return logs;
    };
    with_entropies = std::max(with_entropies, double{by_entropies(probabilities(log_softmax(a)),
                                                                  probabilities(log_softmax(b)))});
  }
  MESSAGE("by divergences " << here << ", by entropies " << with_entropies);
  CHECK(here <= 3e-5);
  CHECK(with_entropies > 1e-4);
}

TEST_CASE("a known distance is not lost in rounding") {
  // p = 1/2 + x, q = 1/2 - x: JSD = 1 - h(1/2 + x) = 2 x^2 / ln 2 to the fourth order.
  for (double const x : {1e-3, 1e-4, 1e-5}) {
    auto const a = static_cast<float>(2 * x), b = -a;  // logits of +-2x: p - q = 2x to third order
    CHECK(distance({{a, b}}, {{b, a}}) ==
          doctest::Approx(std::sqrt(2 / std::log(2.0)) * x).epsilon(0.02));
  }
}

TEST_CASE("answers to other batches have no distance") {
  auto const a = answer({{1, 2, 3}});
  CHECK(js_distance(a, answer({{1, 2}})).error().errc() == Errc::schema_mismatch);
  CHECK(js_distance(a, answer({{1, 2, 3}, {1, 2, 3}})).error().errc() == Errc::schema_mismatch);
  CHECK(js_distance({}, {}).error().errc() == Errc::schema_mismatch);
}
