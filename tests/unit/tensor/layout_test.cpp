#include "grapevine/tensor/layout.hpp"

#include "grapevine/base/limits.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

using namespace grapevine;

namespace {

Errc error_of(std::vector<TensorSpec> tensors) {
  auto const layout = TensorLayout::make(std::move(tensors));
  REQUIRE_FALSE(layout.has_value());
  return layout.error().errc();
}

}  // namespace

TEST_CASE("a layout orders tensors by name and places them end to end") {
  auto const layout =
      TensorLayout::make(
          {{.name = "b", .shape = {2, 3}}, {.name = "a", .shape = {4}}, {.name = "c", .shape = {}}})
          .value();
  CHECK(layout.elements() == 11);
  CHECK(layout.find("a")->offset == 0);
  CHECK(layout.find("b")->offset == 4);
  CHECK(layout.find("c")->offset == 10);
  CHECK(layout.find("d") == nullptr);
  CHECK(layout.canonical_text() == "a\tF32\t[4]\nb\tF32\t[2,3]\nc\tF32\t[]\n");
}

TEST_CASE("a layout refuses what peers could read in two ways") {
  CHECK(error_of({{.name = "a", .shape = {1}}, {.name = "a", .shape = {2}}}) ==
        Errc::schema_mismatch);
  CHECK(error_of({{.name = "", .shape = {1}}}) == Errc::schema_mismatch);
  CHECK(error_of({{.name = "a\tF32\t[1]\nb", .shape = {1}}}) == Errc::schema_mismatch);
  CHECK(error_of({{.name = "a", .shape = {0}}}) == Errc::schema_mismatch);
  CHECK(error_of({{.name = "a", .shape = {-1}}}) == Errc::schema_mismatch);
  CHECK(error_of({{.name = "a", .shape = std::vector<std::int64_t>(9, 1)}}) ==
        Errc::schema_mismatch);
  CHECK(error_of({{.name = std::string(limits::tensor_name_max + 1, 'a'), .shape = {1}}}) ==
        Errc::schema_mismatch);
}

TEST_CASE("sizes are limited without overflow, at the limit and one over") {
  auto const most = static_cast<std::int64_t>(limits::model_elements_max);
  CHECK(TensorLayout::make({{.name = "a", .shape = {most}}}).has_value());
  CHECK(error_of({{.name = "a", .shape = {most + 1}}}) == Errc::schema_mismatch);
  CHECK(error_of({{.name = "a", .shape = {most}}, {.name = "b", .shape = {1}}}) ==
        Errc::schema_mismatch);
  CHECK(error_of({{.name = "a", .shape = {INT64_MAX, INT64_MAX}}}) == Errc::schema_mismatch);
}

TEST_CASE("shards cover every element once, and differ by at most one") {
  CHECK(rc::check("cover", [] {
    auto const elements = *rc::gen::inRange<std::uint64_t>(0, 1u << 20);
    auto const shards = *rc::gen::inRange<std::uint32_t>(1, 300);
    std::uint64_t next = 0;
    for (std::uint32_t i = 0; i < shards; ++i) {
      auto const range = shard_range(elements, shards, i);
      RC_ASSERT(range.first == next);
      RC_ASSERT(range.count - elements / shards <= 1);
      next += range.count;
    }
    RC_ASSERT(next == elements);
  }));
}
