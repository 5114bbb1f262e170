#include "grapevine/mix/correction.hpp"

#include "grapevine/base/random.hpp"
#include "grapevine/mix/average.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cmath>
#include <vector>

using namespace grapevine;

namespace {

constexpr std::size_t elements = 8;
using Floats = std::vector<float>;

Floats draw(SeededRandom& random) {
  Floats values(elements);
  for (auto& value : values) value = static_cast<float>(random.unit() * 2 - 1);
  return values;
}

struct Peer {
  Floats z, v, d;
};

Peer draw_peer(SeededRandom& random) { return {draw(random), draw(random), draw(random)}; }

void exchange(OuterSettings const& settings, Peer& low, Peer& high) {
  Floats x(elements), mean(elements);
  pair_average(low.z, high.z, x);
  pair_average(low.d, high.d, mean);
  for (auto* peer : {&low, &high}) {
    peer->z = x;
    outer_step(settings, mean, peer->v, peer->z);
  }
}

OuterSettings draw_settings() {
  return {*rc::gen::element(0.3F, 0.7F, 1.0F), *rc::gen::element(0.0F, 0.5F, 0.9F),
          *rc::gen::arbitrary<bool>()};
}

double far_apart(Floats const& a, Floats const& b) {
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    most = std::max(most, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
  return most;
}

}  // namespace

TEST_CASE("a correction some rounds later leads where the exchange would have led") {
  CHECK(rc::check("aged", [] {
    auto const settings = draw_settings();
    auto const later = *rc::gen::inRange<std::uint64_t>(0, 12);
    SeededRandom random(*rc::gen::arbitrary<std::uint64_t>());
    Peer low = draw_peer(random), high = draw_peer(random);
    Peer alone = high;
    outer_step(settings, alone.d, alone.v, alone.z);
    exchange(settings, low, high);
    Floats dz(elements), dv(elements);
    for (std::size_t i = 0; i < elements; ++i) {
      dz[i] = high.z[i] - alone.z[i];
      dv[i] = high.v[i] - alone.v[i];
    }
    for (std::uint64_t step = 0; step < later; ++step) {
      auto const d = draw(random);
      outer_step(settings, d, alone.v, alone.z);
      outer_step(settings, d, high.v, high.z);
    }
    age_correction(settings, later, dz, dv);
    for (std::size_t i = 0; i < elements; ++i) {
      alone.z[i] += dz[i];
      alone.v[i] += dv[i];
    }
    RC_ASSERT(far_apart(alone.z, high.z) < 1e-4);
    RC_ASSERT(far_apart(alone.v, high.v) < 1e-4);
  }));
}

TEST_CASE("an exchange moves the sum of a pair as two steps alone would") {
  CHECK(rc::check("sum", [] {
    auto const settings = draw_settings();
    SeededRandom random(*rc::gen::arbitrary<std::uint64_t>());
    Peer low = draw_peer(random), high = draw_peer(random);
    Peer low_alone = low, high_alone = high;
    exchange(settings, low, high);
    for (auto* peer : {&low_alone, &high_alone}) outer_step(settings, peer->d, peer->v, peer->z);
    for (std::size_t i = 0; i < elements; ++i) {
      double const mixed = static_cast<double>(low.z[i]) + static_cast<double>(high.z[i]);
      double const apart =
          static_cast<double>(low_alone.z[i]) + static_cast<double>(high_alone.z[i]);
      RC_ASSERT(std::abs(mixed - apart) < 3e-6);
    }
  }));
}

TEST_CASE("a correction ages by hand") {
  // lr 0.5, mu 0.5, nesterov; a step later: dv = 1, dz = -0.5 - 0.5 0.5 1 = -0.75.
  OuterSettings const settings{0.5F, 0.5F, true};
  Floats dz{-0.5F}, dv{2};
  age_correction(settings, 1, dz, dv);
  CHECK(dv[0] == 1);
  CHECK(dz[0] == -0.75F);
}
