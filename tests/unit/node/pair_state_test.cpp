#include "node/pair_state_detail.hpp"

#include "unit/node/states.hpp"

#include <cmath>
#include <limits>

using namespace grapevine;
using namespace grapevine::test;

namespace {

// One side of an exchange: its state and its outer gradient.
struct Peer {
  explicit Peer(std::uint64_t seed) : state(state_of(seed)), gradient(drawn(seed + 2000)) {
    side.parameters = blobs_of(state->parameters);
    side.gradients = cut(gradient);
  }
  [[nodiscard]] Plain alone() const {
    return plain_step(doubles(flatten(state->parameters)), doubles(flatten(state->momentum)),
                      doubles(gradient));
  }
  ModelStatePtr state;
  std::vector<float> gradient;
  PairSide side;
};

std::vector<double> mean(std::vector<float> const& a, std::vector<float> const& b) {
  std::vector<double> out;
  for (std::size_t i = 0; i < a.size(); ++i)
    out.push_back((static_cast<double>(a[i]) + static_cast<double>(b[i])) / 2);
  return out;
}

}  // namespace

TEST_CASE("an exchange steps from the mean state by the mean gradient, with the own momentum") {
  Peer const low(1);
  Peer const high(2);
  PairSides const sides{low.side, high.side};
  for (auto const* own : {&low, &high}) {
    auto const next = apply_pair(*own->state, nesterov, sides);
    auto const wanted =
        plain_step(mean(flatten(low.state->parameters), flatten(high.state->parameters)),
                   doubles(flatten(own->state->momentum)), mean(low.gradient, high.gradient));
    CHECK(next->round == own->state->round + 1);
    CHECK(next->run == own->state->run);
    check_close(flatten(next->parameters), wanted.z);
    check_close(flatten(next->momentum), wanted.v);
  }
}

TEST_CASE("with one momentum both sides come to one state, bit for bit") {
  auto const run = sha256(as_bytes("run"));
  auto const v = drawn(9);
  auto const low = make_state(run, 4, shards, drawn(1), v);
  auto const high = make_state(run, 4, shards, drawn(2), v);
  PairSide const a{blobs_of(low->parameters), cut(drawn(3))};
  PairSide const b{blobs_of(high->parameters), cut(drawn(4))};
  CHECK(apply_pair(*low, nesterov, {a, b})->hash() == apply_pair(*high, nesterov, {a, b})->hash());
}

TEST_CASE("an exchange leaves the sum of the two where two steps alone would have") {
  Peer const low(1);
  Peer const high(2);
  PairSides const sides{low.side, high.side};
  auto const one = apply_pair(*low.state, nesterov, sides);
  auto const other = apply_pair(*high.state, nesterov, sides);
  auto const sum = [](std::vector<double> a, std::vector<double> const& b) {
    for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
    return a;
  };
  auto const z = sum(doubles(flatten(one->parameters)), doubles(flatten(other->parameters)));
  auto const v = sum(doubles(flatten(one->momentum)), doubles(flatten(other->momentum)));
  auto const wanted_z = sum(low.alone().z, high.alone().z);
  auto const wanted_v = sum(low.alone().v, high.alone().v);
  for (std::size_t i = 0; i < elements; ++i) {
    CHECK(std::abs(z[i] - wanted_z[i]) < 1e-5);
    CHECK(std::abs(v[i] - wanted_v[i]) < 1e-5);
  }
}

TEST_CASE("a step alone and the correction are the exchange") {
  Peer const low(1);
  Peer const high(2);
  PairSides const sides{low.side, high.side};
  for (auto const* own : {&low, &high}) {
    auto const alone = apply_results(*own->state, nesterov, own->side.gradients);
    auto const owed = correction_of(*own->state, nesterov, own->side.gradients, sides);
    auto const made_good = corrected(*alone, owed);
    auto const wanted = apply_pair(*own->state, nesterov, sides);
    CHECK(made_good->round == wanted->round);
    CHECK(made_good->run == wanted->run);
    CHECK(alone->hash() != wanted->hash());
    auto const close = [](std::vector<float> const& got, std::vector<float> const& to) {
      for (std::size_t i = 0; i < elements; ++i) CHECK(std::abs(got[i] - to[i]) < 1e-5F);
    };
    close(flatten(made_good->parameters), flatten(wanted->parameters));
    close(flatten(made_good->momentum), flatten(wanted->momentum));
  }
}

TEST_CASE("a side is taken when it is whole and finite, with the norm of its gradient") {
  Peer const peer(1);
  double squares = 0;
  for (auto const value : doubles(peer.gradient)) squares += value * value;
  auto const norm = check_side(peer.side, elements);
  REQUIRE(norm.has_value());
  CHECK(*norm == doctest::Approx(std::sqrt(squares)).epsilon(1e-5));
  CHECK(check_side(peer.side, elements + 1).error().errc() == Errc::schema_mismatch);
  for (float const bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    auto broken = peer.side;
    auto values = peer.gradient;
    values.back() = bad;
    broken.gradients = cut(values);
    CHECK(check_side(broken, elements).error().errc() == Errc::not_finite);
    broken = peer.side;
    broken.parameters = cut(values);
    CHECK(check_side(broken, elements).error().errc() == Errc::not_finite);
  }
  auto short_one = peer.side;
  short_one.parameters.back() = std::make_shared<Bytes const>();
  CHECK(check_side(short_one, elements).error().errc() == Errc::schema_mismatch);
}
