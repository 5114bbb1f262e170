#include "node/mixed_state_detail.hpp"

#include "node/sent_shard_detail.hpp"

#include "unit/node/states.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace grapevine;
using namespace grapevine::test;

namespace {

// One side of an exchange: its state and its outer gradient.
struct Peer {
  explicit Peer(std::uint64_t seed)
      : state(state_of(seed)), gradient(drawn(seed + 2000)), gradients(cut(gradient)) {}
  [[nodiscard]] std::vector<Blob> side(MixLane lane, bool momentum = false) const {
    std::vector<Blob> side;
    if (lane != MixLane::gradients) append(side, blobs_of(state->parameters));
    if (lane != MixLane::gradients && momentum) append(side, blobs_of(state->momentum));
    if (lane != MixLane::parameters) append(side, gradients);
    return side;
  }
  [[nodiscard]] Plain alone() const {
    return plain_step(doubles(flatten(state->parameters)), doubles(flatten(state->momentum)),
                      doubles(gradient));
  }
  ModelStatePtr state;
  std::vector<float> gradient;
  std::vector<Blob> gradients;

 private:
  static void append(std::vector<Blob>& to, std::vector<Blob> const& blobs) {
    to.insert(to.end(), blobs.begin(), blobs.end());
  }
};

// What `own` comes to after it has exchanged in `lane`.
ModelStatePtr exchanged(MixLane lane, Peer const& own, Peer const& low, Peer const& high,
                        std::uint64_t low_tokens = 1, std::uint64_t high_tokens = 1,
                        bool momentum = false) {
  auto const a = low.side(lane, momentum), b = high.side(lane, momentum);
  MixedShards mixed;
  take_in(mixed, lane, shards, mean_of({a, low_tokens}, {b, high_tokens}));
  return step_mixed(*own.state, nesterov, own.gradients, mixed);
}

std::vector<double> mean(std::vector<float> const& a, std::vector<float> const& b) {
  std::vector<double> out;
  for (std::size_t i = 0; i < a.size(); ++i)
    out.push_back((static_cast<double>(a[i]) + static_cast<double>(b[i])) / 2);
  return out;
}

}  // namespace

TEST_CASE("with a pull the partner's state goes through the momentum, as in NoLoCo") {
  Peer const low(1), high(2);
  OuterSettings const noloco{0.7F, 0.5F, false, 0.7F};
  auto const a = low.side(MixLane::joint), b = high.side(MixLane::joint);
  MixedShards mixed;
  take_in(mixed, MixLane::joint, shards, mean_of({a, 1}, {b, 1}));
  auto const next = step_mixed(*low.state, noloco, low.gradients, mixed);
  auto const z = flatten(low.state->parameters), v = flatten(low.state->momentum);
  auto const mean_z = mean(z, flatten(high.state->parameters));
  auto const mean_d = mean(low.gradient, high.gradient);
  auto const parameters = flatten(next->parameters), momentum = flatten(next->momentum);
  for (std::size_t i = 0; i < z.size(); ++i) {
    // Of the slow weights phi = z: w <- mu w + beta mean(theta - phi) + gamma (mean(phi) - phi),
    // phi <- phi + w, where theta - phi = -D and w = -lr v.
    double const lr = 0.7F, w = 0.5 * -lr * v[i] - lr * mean_d[i] + lr * (mean_z[i] - z[i]);
    CHECK(parameters[i] == doctest::Approx(z[i] + w).epsilon(1e-5));
    CHECK(momentum[i] == doctest::Approx(-w / lr).epsilon(1e-5));
  }
}

TEST_CASE("an exchange steps from the mean state by the mean gradient, with the own momentum") {
  Peer const low(1);
  Peer const high(2);
  for (auto const* own : {&low, &high}) {
    auto const next = exchanged(MixLane::joint, *own, low, high);
    auto const wanted =
        plain_step(mean(flatten(low.state->parameters), flatten(high.state->parameters)),
                   doubles(flatten(own->state->momentum)), mean(low.gradient, high.gradient));
    CHECK(next->round == own->state->round + 1);
    CHECK(next->run == own->state->run);
    check_close(flatten(next->parameters), wanted.z);
    check_close(flatten(next->momentum), wanted.v);
  }
}

TEST_CASE("two sides of a joint exchange are as far apart as what they trained") {
  Peer const low(1);
  Peer const high(2);
  double wanted = 0;
  auto const z = flatten(low.state->parameters), their_z = flatten(high.state->parameters);
  for (std::size_t i = 0; i < z.size(); ++i)
    wanted += std::pow(
        double{z[i]} - double{low.gradient[i]} - double{their_z[i]} + double{high.gradient[i]}, 2);
  for (bool const momentum : {false, true}) {
    auto const a = low.side(MixLane::joint, momentum), b = high.side(MixLane::joint, momentum);
    CHECK(squared_distance(a, b, shards) == doctest::Approx(wanted));
    CHECK(squared_distance(a, a, shards) == 0);
  }
}

TEST_CASE("the distances of several vectors follow from their norms and that of their mean") {
  std::vector<std::vector<float>> const vectors{drawn(1), drawn(2), drawn(3), drawn(4)};
  std::vector<double> const weights{100, 100, 250, 50};
  std::vector<WeightedNorm> norms;
  double pairs = 0, of_pairs = 0, squares = 0;
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    double norm = 0;
    for (float const x : vectors[i]) norm += double{x} * double{x};
    norms.push_back({weights[i], std::sqrt(norm)});
    for (std::size_t j = 0; j < vectors.size(); ++j) {
      double distance = 0;
      for (std::size_t k = 0; k < elements; ++k)
        distance += std::pow(double{vectors[i][k]} - double{vectors[j][k]}, 2);
      of_pairs += weights[i] * weights[j] * distance;
      if (i != j) pairs += weights[i] * weights[j];
    }
  }
  for (std::size_t k = 0; k < elements; ++k) {
    double mean_of_k = 0;
    for (std::size_t i = 0; i < vectors.size(); ++i)
      mean_of_k += weights[i] / 500 * double{vectors[i][k]};
    squares += mean_of_k * mean_of_k;
  }
  CHECK(mean_squared_distance(norms, squares) == doctest::Approx(of_pairs / pairs));
}

TEST_CASE("Mix1 alone moves to the mean of the parameters, and steps by the own gradient") {
  Peer const low(1);
  Peer const high(2);
  auto const x = mean(flatten(low.state->parameters), flatten(high.state->parameters));
  for (bool const momentum : {false, true}) {
    CAPTURE(momentum);
    auto const next = exchanged(MixLane::parameters, low, low, high, 1, 1, momentum);
    auto const v = momentum ? mean(flatten(low.state->momentum), flatten(high.state->momentum))
                            : doubles(flatten(low.state->momentum));
    auto const wanted = plain_step(x, v, doubles(low.gradient));
    check_close(flatten(next->parameters), wanted.z);
    check_close(flatten(next->momentum), wanted.v);
  }
}

TEST_CASE("Mix2 alone weighs the gradients by tokens, and steps from the own parameters") {
  Peer const low(1);
  Peer const high(2);
  std::vector<double> weighted;
  for (std::size_t i = 0; i < elements; ++i)
    weighted.push_back(
        (3 * static_cast<double>(low.gradient[i]) + static_cast<double>(high.gradient[i])) / 4);
  for (auto const* own : {&low, &high}) {
    auto const next = exchanged(MixLane::gradients, *own, low, high, 300, 100);
    auto const wanted = plain_step(doubles(flatten(own->state->parameters)),
                                   doubles(flatten(own->state->momentum)), weighted);
    check_close(flatten(next->parameters), wanted.z);
    check_close(flatten(next->momentum), wanted.v);
  }
}

TEST_CASE("a shard that nobody mixed goes on with what this peer has") {
  Peer const low(1);
  Peer const high(2);
  MixedShards mixed;
  take_in(mixed, MixLane::parameters, shards, high.side(MixLane::parameters));
  mixed.parameters[1] = nullptr;
  auto const next = step_mixed(*low.state, nesterov, low.gradients, mixed);
  auto const alone = step_mixed(*low.state, nesterov, low.gradients, {});
  CHECK(next->parameters[1].ref == alone->parameters[1].ref);
  CHECK(next->parameters[0].ref != alone->parameters[0].ref);
  check_close(flatten(alone->parameters), low.alone().z);
  check_close(flatten(alone->momentum), low.alone().v);
}

TEST_CASE("who has learned nothing takes no outer step, and still moves to the mean") {
  Peer const low(1);
  Peer const high(2);
  auto const a = low.side(MixLane::parameters), b = high.side(MixLane::parameters);
  MixedShards mixed;
  take_in(mixed, MixLane::parameters, shards, mean_of({a}, {b}));
  auto const next = step_mixed(*low.state, nesterov, {}, mixed);
  check_close(flatten(next->parameters),
              mean(flatten(low.state->parameters), flatten(high.state->parameters)));
  CHECK(flatten(next->momentum) == flatten(low.state->momentum));
}

TEST_CASE("what is no number any more counts as not mixed") {
  Peer const low(1);
  MixedShards mixed;
  mixed.gradients = {cut(std::vector<float>(elements, std::numeric_limits<float>::max()))};
  auto const next = step_mixed(*low.state, nesterov, low.gradients, mixed);
  CHECK(all_finite(*next));
  check_close(flatten(next->parameters), low.alone().z);
}

TEST_CASE("with one momentum both sides come to one state, bit for bit") {
  auto const run = sha256(as_bytes("run"));
  auto const v = drawn(9);
  Peer low(1), high(2);
  low.state = make_state(run, 4, shards, drawn(1), v);
  high.state = make_state(run, 4, shards, drawn(2), v);
  CHECK(exchanged(MixLane::joint, low, low, high)->hash() ==
        exchanged(MixLane::joint, high, low, high)->hash());
}

TEST_CASE("an exchange leaves the sum of the two where two steps alone would have") {
  Peer const low(1);
  Peer const high(2);
  auto const sum = [](std::vector<double> a, std::vector<double> const& b) {
    for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
    return a;
  };
  for (auto const lane : {MixLane::joint, MixLane::parameters, MixLane::gradients}) {
    CAPTURE(to_string(lane));
    auto const one = exchanged(lane, low, low, high);
    auto const other = exchanged(lane, high, low, high);
    auto const z = sum(doubles(flatten(one->parameters)), doubles(flatten(other->parameters)));
    auto const v = sum(doubles(flatten(one->momentum)), doubles(flatten(other->momentum)));
    auto const wanted_z = sum(low.alone().z, high.alone().z);
    auto const wanted_v = sum(low.alone().v, high.alone().v);
    for (std::size_t i = 0; i < elements; ++i) {
      CHECK(std::abs(z[i] - wanted_z[i]) < 1e-5);
      CHECK(std::abs(v[i] - wanted_v[i]) < 1e-5);
    }
  }
}

TEST_CASE("a step alone and the correction are the exchange") {
  Peer const low(1);
  Peer const high(2);
  for (auto const* own : {&low, &high}) {
    auto const alone = step_mixed(*own->state, nesterov, own->gradients, {});
    auto const wanted = exchanged(MixLane::joint, *own, low, high);
    auto const made_good = corrected(*alone, difference(*wanted, *alone));
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

TEST_CASE("the norm of a side is that of its gradient") {
  Peer const peer(1);
  double squares = 0;
  for (auto const value : doubles(peer.gradient)) squares += value * value;
  auto const norm = norm_of_side(MixLane::joint, peer.side(MixLane::joint), shards);
  REQUIRE(norm.has_value());
  CHECK(*norm == doctest::Approx(std::sqrt(squares)).epsilon(1e-5));
  CHECK(norm_of_side(MixLane::parameters, peer.side(MixLane::parameters), shards) == 0.0);
}

TEST_CASE("what travels rounded moves both by the same, and their sum not at all") {
  Peer const low(1), high(2);
  auto const rounded = [](Peer const& peer) {
    std::vector<Blob> sent;
    for (auto const& blob : peer.side(MixLane::joint, true))
      sent.push_back(encode_shard(Codec::int8, blob).value().values);
    return sent;
  };
  auto const a = rounded(low), b = rounded(high);
  auto const mean = mean_of({a}, {b});
  auto const of_low = moved(MixLane::joint, *low.state, shards, a, mean);
  auto const of_high = moved(MixLane::joint, *high.state, shards, b, mean);
  for (std::size_t i = 0; i < 3 * shards; ++i) {
    CAPTURE(i);
    bool const gradient = i >= 2 * shards;
    CHECK((of_low[i] == mean[i]) == gradient);
    auto const& own = i < shards ? low.state->parameters[i] : low.state->momentum[i % shards];
    auto const& its = i < shards ? high.state->parameters[i] : high.state->momentum[i % shards];
    if (gradient) continue;
    auto const z_low = floats_of(*own.blob), z_high = floats_of(*its.blob);
    auto const x_low = floats_of(*of_low[i]), x_high = floats_of(*of_high[i]);
    auto const sent_low = floats_of(*a[i]), sent_high = floats_of(*b[i]);
    for (std::size_t j = 0; j < z_low.size(); ++j) {
      double const half = (double{sent_high[j]} - double{sent_low[j]}) / 2;
      CHECK(x_low[j] == doctest::Approx(double{z_low[j]} + half).epsilon(1e-5));
      CHECK(double{x_low[j]} + double{x_high[j]} ==
            doctest::Approx(double{z_low[j]} + double{z_high[j]}).epsilon(1e-5));
    }
  }
  // What was not rounded is the mean itself, to the bit; what did not come moves nothing.
  auto const plain_low = low.side(MixLane::parameters), plain_high = high.side(MixLane::parameters);
  auto plain_mean = mean_of({plain_low}, {plain_high});
  plain_mean[0] = nullptr;
  CHECK(moved(MixLane::parameters, *low.state, shards, plain_low, plain_mean) == plain_mean);
}
