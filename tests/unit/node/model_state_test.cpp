#include "node/model_state_detail.hpp"

#include "grapevine/base/limits.hpp"
#include "grapevine/crypto/merkle.hpp"
#include "node/blob_builder_detail.hpp"
#include "unit/node/states.hpp"

#include <cmath>
#include <limits>

using namespace grapevine;
using namespace grapevine::test;

namespace {

constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();
constexpr float infinite = std::numeric_limits<float>::infinity();

StateDescriptor descriptor_of(ModelState const& state) {
  return decode_state(*state.descriptor.blob).value();
}

Result<ModelStatePtr> assembled(ModelState const& state, std::vector<Blob> parameters,
                                std::vector<Blob> momentum) {
  return assemble_state(descriptor_of(state), std::move(parameters), std::move(momentum), elements);
}

Blob with(Blob const& blob, float first) {
  auto changed = *blob;
  floats_of(changed)[0] = first;
  return std::make_shared<Bytes const>(std::move(changed));
}

Blob shorter(Blob const& blob) {
  return std::make_shared<Bytes const>(blob->begin(), blob->end() - sizeof(float));
}

std::vector<float> joined(std::vector<Blob> const& blobs) {
  std::vector<float> values;
  for (auto const& blob : blobs) {
    auto const floats = floats_of(*blob);
    values.insert(values.end(), floats.begin(), floats.end());
  }
  return values;
}

}  // namespace

TEST_CASE("a blob is named by the root of its chunks") {
  Bytes bytes(limits::blob_chunk_bytes + 4, 7);
  auto const hashed = hash_blob(std::make_shared<Bytes const>(bytes));
  CHECK(hashed.ref.bytes == bytes.size());
  CHECK(hashed.leaves.size() == 2);
  CHECK(hashed.ref.root == merkle_root(merkle_leaves(bytes, limits::blob_chunk_bytes)));
}

TEST_CASE("a state is its vectors in shards, and its hash names every bit of them") {
  auto const z = drawn(1);
  auto const v = drawn(2);
  auto const run = sha256(as_bytes("run"));
  auto const state = make_state(run, 4, shards, z, v);
  CHECK(state->parameters.size() == shards);
  CHECK(flatten(state->parameters) == z);
  CHECK(flatten(state->momentum) == v);
  CHECK(state->hash() == make_state(run, 4, shards, z, v)->hash());
  CHECK(state->hash() != make_state(run, 5, shards, z, v)->hash());
  CHECK(state->hash() != make_state({}, 4, shards, z, v)->hash());
  auto other = v;
  other.back() = std::nextafter(other.back(), 2.0F);
  CHECK(state->hash() != make_state(run, 4, shards, z, other)->hash());
  CHECK(flatten(make_state(run, 4, shards, z, {})->momentum) == std::vector<float>(elements));
}

TEST_CASE("the outer gradient is what training changed, the other way round") {
  auto const start = drawn(1);
  auto const theta = drawn(2);
  auto const gradient = outer_gradient(start, theta, shards);
  REQUIRE(gradient.has_value());
  std::vector<double> wanted;
  double squares = 0;
  for (std::size_t i = 0; i < elements; ++i) {
    wanted.push_back(static_cast<double>(start[i]) - static_cast<double>(theta[i]));
    squares += wanted.back() * wanted.back();
  }
  check_close(joined(gradient->shards), wanted);
  CHECK(gradient->norm == doctest::Approx(std::sqrt(squares)).epsilon(1e-5));
}

TEST_CASE("an outer gradient that is not finite never leaves the machine") {
  auto const start = drawn(1);
  for (float const bad : {not_a_number, infinite, -infinite})
    for (std::size_t at : {std::size_t{0}, elements - 1}) {
      auto theta = drawn(2);
      theta[at] = bad;
      auto const gradient = outer_gradient(start, theta, shards);
      REQUIRE_FALSE(gradient.has_value());
      CHECK(gradient.error().errc() == Errc::not_finite);
    }
  // Finite ends of which the difference is not.
  std::vector<float> const low(elements, -3e38F);
  std::vector<float> const high(elements, 3e38F);
  CHECK_FALSE(outer_gradient(low, high, shards).has_value());
}

TEST_CASE("shards of many tiles are made like small ones") {
  constexpr std::size_t count = shards * (2 * tile_values_max + 1000) + 1;
  auto const z = drawn(1, count);
  auto const v = drawn(2, count);
  auto const theta = drawn(3, count);
  auto const gradient = outer_gradient(z, theta, shards);
  REQUIRE(gradient.has_value());
  std::vector<double> d;
  double squares = 0;
  for (std::size_t i = 0; i < count; ++i) {
    d.push_back(static_cast<double>(z[i] - theta[i]));
    squares += d.back() * d.back();
  }
  CHECK(doubles(joined(gradient->shards)) == d);
  CHECK(gradient->norm == doctest::Approx(std::sqrt(squares)).epsilon(1e-6));

  std::vector<Blob> averages;
  for (auto const& shard : gradient->shards) {
    std::vector<ShardInput> const alone{{shard, 3}, {shard, 3}};
    averages.push_back(average_shard(alone));
    CHECK(*averages.back() == *shard);
  }
  auto const next = apply_results(*make_state({}, 4, shards, z, v), nesterov, averages);
  auto const wanted = plain_step(doubles(z), doubles(v), d);
  auto const far_from = [](std::vector<float> const& got, std::vector<double> const& should) {
    double most = 0;
    for (std::size_t i = 0; i < got.size(); ++i)
      most = std::max(most, std::abs(static_cast<double>(got[i]) - should[i]));
    return most;
  };
  CHECK(far_from(flatten(next->parameters), wanted.z) < 1e-6);
  CHECK(far_from(flatten(next->momentum), wanted.v) < 1e-6);
}

TEST_CASE("results move their shards by an outer step, and the others not at all") {
  auto const state = state_of(1);
  auto const d = drawn(5);
  auto results = cut(d);
  auto const all = apply_results(*state, nesterov, results);
  auto const wanted = plain_step(doubles(flatten(state->parameters)),
                                 doubles(flatten(state->momentum)), doubles(d));
  CHECK(all->round == 5);
  CHECK(all->run == state->run);
  check_close(flatten(all->parameters), wanted.z);
  check_close(flatten(all->momentum), wanted.v);
  CHECK(flatten(state->parameters) == drawn(1));  // the state before is untouched

  results[1] = nullptr;
  auto const some = apply_results(*state, nesterov, results);
  CHECK(some->round == 5);
  for (std::size_t i : {0, 2}) {
    CHECK(some->parameters[i].ref == all->parameters[i].ref);
    CHECK(some->momentum[i].ref == all->momentum[i].ref);
  }
  CHECK(some->parameters[1].ref == state->parameters[1].ref);
  CHECK(some->momentum[1].ref == state->momentum[1].ref);
  CHECK(some->hash() != all->hash());
  CHECK(descriptor_of(*some).parameters[1] == state->parameters[1].ref);
}

TEST_CASE("a state that was pulled is the state that was served") {
  auto const state = state_of(1);
  auto const pulled = assembled(*state, blobs_of(state->parameters), blobs_of(state->momentum));
  REQUIRE(pulled.has_value());
  CHECK((*pulled)->hash() == state->hash());
  CHECK((*pulled)->round == state->round);
  CHECK(flatten((*pulled)->parameters) == flatten(state->parameters));
  CHECK(flatten((*pulled)->momentum) == flatten(state->momentum));
}

TEST_CASE("a pulled state of a wrong size, or with what is no number, is refused") {
  auto const state = state_of(1);
  using Change = std::function<Blob(Blob const&)>;
  auto const refused = [&](std::size_t index, bool momentum, Change const& change) {
    auto parameters = blobs_of(state->parameters);
    auto moments = blobs_of(state->momentum);
    auto& blob = momentum ? moments[index] : parameters[index];
    blob = change(blob);
    auto const pulled = assembled(*state, parameters, moments);
    REQUIRE_FALSE(pulled.has_value());
    return pulled.error().errc();
  };
  for (bool const momentum : {false, true})
    for (std::size_t index = 0; index < shards; ++index) {
      for (float const bad : {not_a_number, infinite, -infinite})
        CHECK(refused(index, momentum, [bad](Blob const& blob) { return with(blob, bad); }) ==
              Errc::not_finite);
      CHECK(refused(index, momentum, shorter) == Errc::schema_mismatch);
      CHECK(refused(index, momentum, [](Blob const&) { return std::make_shared<Bytes const>(); }) ==
            Errc::schema_mismatch);
    }
  auto const of_more = assemble_state(descriptor_of(*state), blobs_of(state->parameters),
                                      blobs_of(state->momentum), elements + 1);
  REQUIRE_FALSE(of_more.has_value());
  CHECK(of_more.error().errc() == Errc::schema_mismatch);
}

TEST_CASE("an average weighs by tokens") {
  auto const a = drawn(1);
  auto const b = drawn(2);
  std::vector<ShardInput> const inputs{{blob_of(a), 1000}, {blob_of(b), 3000}};
  std::vector<double> wanted;
  for (std::size_t i = 0; i < elements; ++i)
    wanted.push_back(0.25 * static_cast<double>(a[i]) + 0.75 * static_cast<double>(b[i]));
  auto const average = average_shard(inputs);
  auto const values = floats_of(*average);
  check_close({values.begin(), values.end()}, wanted);
  // One alone is its own average, to the bit.
  CHECK(*average_shard(std::span(inputs).first(1)) == *inputs[0].blob);
}
