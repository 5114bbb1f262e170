// States and gradients to compute with, and the outer step as its formula says, in double.
#pragma once

#include "grapevine/base/random.hpp"
#include "node/model_state_detail.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace grapevine::test {

constexpr std::size_t elements = 23;  // no multiple of the number of shards
constexpr std::uint32_t shards = 3;
constexpr OuterSettings nesterov{0.7F, 0.9F, true};

inline std::vector<float> drawn(std::uint64_t seed, std::size_t count = elements) {
  SeededRandom random(seed);
  std::vector<float> values(count);
  for (auto& value : values) value = static_cast<float>(2 * random.unit() - 1);
  return values;
}

inline Blob blob_of(std::vector<float> const& values) {
  auto const* const bytes = reinterpret_cast<std::uint8_t const*>(values.data());
  return std::make_shared<Bytes const>(bytes, bytes + values.size() * sizeof(float));
}

inline std::vector<Blob> blobs_of(std::vector<HashedBlob> const& of) {
  std::vector<Blob> blobs;
  for (auto const& shard : of) blobs.push_back(shard.blob);
  return blobs;
}

// `values` as blobs, one a shard.
inline std::vector<Blob> cut(std::vector<float> const& values) {
  return blobs_of(make_state({}, 0, shards, values, {})->parameters);
}

inline ModelStatePtr state_of(std::uint64_t seed) {
  return make_state(sha256(as_bytes("run")), 4, shards, drawn(seed), drawn(seed + 1000));
}

// v <- mu v + D;  z <- z - lr (D + mu v)
struct Plain {
  std::vector<double> z, v;
};
inline Plain plain_step(std::vector<double> z, std::vector<double> v,
                        std::vector<double> const& d) {
  for (std::size_t i = 0; i < d.size(); ++i) {
    v[i] = static_cast<double>(nesterov.momentum) * v[i] + d[i];
    z[i] -=
        static_cast<double>(nesterov.lr) * (d[i] + static_cast<double>(nesterov.momentum) * v[i]);
  }
  return {z, v};
}

inline std::vector<double> doubles(std::vector<float> const& values) {
  return {values.begin(), values.end()};
}

inline void check_close(std::vector<float> const& got, std::vector<double> const& wanted) {
  REQUIRE(got.size() == wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i);
    CHECK(static_cast<double>(got[i]) == doctest::Approx(wanted[i]).epsilon(1e-5));
  }
}

}  // namespace grapevine::test
