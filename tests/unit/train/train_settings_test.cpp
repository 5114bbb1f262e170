#include "grapevine/train/train_settings.hpp"

#include "grapevine/base/limits.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

using namespace grapevine;

TEST_CASE("the schedule warms up, falls as half a cosine and stays") {
  TrainSettings const s{.lr = 1, .lr_final = 0.25F, .warmup_steps = 4, .schedule_steps = 12};
  CHECK(learning_rate(s, 0) == 0.25);
  CHECK(learning_rate(s, 3) == 1.0);
  CHECK(learning_rate(s, 4) == doctest::Approx(1.0));
  CHECK(learning_rate(s, 6) == doctest::Approx(0.25 + 0.75 * 0.5 * (1 + std::sqrt(0.5))));
  CHECK(learning_rate(s, 8) == doctest::Approx(0.625));
  CHECK(learning_rate(s, 12) == 0.25);
  CHECK(learning_rate(s, UINT64_MAX) == 0.25);
}

TEST_CASE("a schedule without warm-up, or shorter than it, is defined") {
  TrainSettings s{.lr = 1, .lr_final = 0.5F, .warmup_steps = 0, .schedule_steps = 0};
  CHECK(learning_rate(s, 0) == 0.5);
  s.warmup_steps = 10;
  s.schedule_steps = 5;
  CHECK(learning_rate(s, 4) == 0.5);
  CHECK(learning_rate(s, 9) == 1.0);
  CHECK(learning_rate(s, 10) == 0.5);
}

TEST_CASE("settings are checked, and the message names the field") {
  auto const complaint = [](auto change) {
    TrainSettings s;
    change(s);
    auto const result = check(s);
    return result ? "accepted" : result.error().detail();
  };
  using S = TrainSettings;
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(complaint([](S&) {}) == "accepted");
  CHECK(complaint([](S& s) { s.lr = nan; }).starts_with("lr:"));
  CHECK(complaint([](S& s) { s.lr_final = -1; }).starts_with("lr_final:"));
  CHECK(complaint([](S& s) { s.beta1 = 1; }).starts_with("beta1:"));
  CHECK(complaint([](S& s) { s.beta2 = 1; }).starts_with("beta2:"));
  CHECK(complaint([](S& s) { s.eps = 0; }).starts_with("eps:"));
  CHECK(complaint([](S& s) { s.weight_decay = -1; }).starts_with("weight_decay:"));
  CHECK(complaint([](S& s) { s.clip_norm = nan; }).starts_with("clip_norm:"));
  CHECK(complaint([](S& s) { s.batch = 0; }).starts_with("batch:"));
  CHECK(complaint([](S& s) { s.batch = limits::batch_sequences_max; }) == "accepted");
  CHECK(complaint([](S& s) { s.batch = limits::batch_sequences_max + 1; }).starts_with("batch:"));
  CHECK(complaint([](S& s) { s.accumulation = 0; }).starts_with("accumulation:"));
  CHECK(complaint([](S& s) { s.accumulation = 3; }).starts_with("accumulation:"));
}

TEST_CASE("weight decay is for matrices; neighbours share a range") {
  auto const layout = TensorLayout::make({{.name = "a", .shape = {2, 3}},
                                          {.name = "b", .shape = {3, 1}},
                                          {.name = "c", .shape = {5}},
                                          {.name = "d", .shape = {2, 2}}})
                          .value();
  auto const ranges = decay_ranges(layout);
  CHECK(ranges.decayed == std::vector<ElementRange>{{0, 9}, {14, 4}});
  CHECK(ranges.plain == std::vector<ElementRange>{{9, 5}});
}
