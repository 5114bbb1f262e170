#include "grapevine/tensor/probe_answer.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

using namespace grapevine;

namespace {

// Of `vocab` tokens, each half as likely as the one before.
std::vector<float> halving(std::uint32_t vocab) {
  std::vector<float> logs;
  double const total = 2 - std::exp2(1.0 - vocab);
  for (std::uint32_t i = 0; i < vocab; ++i)
    logs.push_back(static_cast<float>(-static_cast<double>(i) * std::log(2.0) - std::log(total)));
  return logs;
}

ProbeAnswer of(std::uint32_t vocab) {
  ProbeAnswer empty;
  empty.vocab = vocab;
  return empty;
}

ProbeAnswer answer(std::uint32_t vocab, std::size_t rows) {
  auto made = of(vocab);
  for (std::size_t i = 0; i < rows; ++i) REQUIRE(append_row(made, halving(vocab)).has_value());
  return made;
}

template <class Change>
bool accepts(std::uint32_t vocab, Change change) {
  auto changed = answer(vocab, 2);
  change(changed);
  return check(changed).has_value();
}

}  // namespace

TEST_CASE("a row lists the likeliest tokens, by number, and sums up the rest") {
  std::vector<float> logs(100, std::log(0.5F / 64));
  for (std::size_t i = 0; i < 35; ++i) logs[i] = std::log(0.5F / 36);
  logs[99] = std::log(0.5F / 36);
  auto made = of(100);
  REQUIRE(append_row(made, logs).has_value());
  CHECK(made.rows() == 1);
  REQUIRE(made.tokens.size() == 64);
  for (std::uint32_t i = 0; i < 63; ++i) CHECK(made.tokens[i] == i);
  CHECK(made.tokens[63] == 99);
  CHECK(made.log_probabilities[34] == logs[0]);
  CHECK(made.log_probabilities[35] == logs[35]);
  CHECK(made.log_probabilities[63] == logs[99]);
  CHECK(made.rest.front() == doctest::Approx(36 * 0.5 / 64));
  CHECK(check(made).has_value());
}

TEST_CASE("of equally likely tokens the smaller are listed") {
  std::vector<float> const logs(100, std::log(0.01F));
  auto made = of(100);
  REQUIRE(append_row(made, logs).has_value());
  CHECK(made.tokens.front() == 0);
  CHECK(made.tokens.back() == 63);
  CHECK(made.rest.front() == doctest::Approx(0.36));
}

TEST_CASE("a small vocabulary is listed whole") {
  auto const made = answer(8, 3);
  CHECK(made.listed() == 8);
  CHECK(made.rest == std::vector<float>(3, 0.0F));
  CHECK(check(made).has_value());
  CHECK(answer(64, 1).rest.front() == 0);
  CHECK(answer(65, 1).listed() == 64);
}

TEST_CASE("what is not finite is no answer") {
  auto logs = halving(8);
  logs[5] = -std::numeric_limits<float>::infinity();
  auto made = of(8);
  CHECK(append_row(made, logs).error().errc() == Errc::not_finite);
}

TEST_CASE("what no model can have answered is refused") {
  using Answer = ProbeAnswer;
  for (std::uint32_t const vocab : {8U, 100U}) {
    CHECK(accepts(vocab, [](Answer&) {}));
    CHECK_FALSE(accepts(vocab, [](Answer& a) { a.vocab = 0; }));
    CHECK_FALSE(accepts(vocab, [](Answer& a) { a.vocab = limits::model_vocab_max + 1; }));
    CHECK_FALSE(accepts(vocab, [](Answer& a) { a.rest.clear(); }));
    CHECK_FALSE(accepts(vocab, [](Answer& a) { a.tokens.pop_back(); }));
    CHECK_FALSE(accepts(vocab, [](Answer& a) { a.log_probabilities.push_back(-1); }));
    CHECK_FALSE(accepts(vocab, [](Answer& a) { std::swap(a.tokens[0], a.tokens[1]); }));
    CHECK_FALSE(accepts(vocab, [](Answer& a) { a.tokens[1] = a.tokens[0]; }));
    CHECK_FALSE(accepts(vocab, [vocab](Answer& a) { a.tokens.back() = vocab; }));
    CHECK_FALSE(accepts(vocab, [](Answer& a) { a.log_probabilities[0] = 0.001F; }));
    CHECK_FALSE(accepts(vocab, [](Answer& a) { a.log_probabilities[0] = NAN; }));
    CHECK_FALSE(accepts(vocab, [](Answer& a) { a.log_probabilities[0] = -INFINITY; }));
    CHECK_FALSE(accepts(vocab, [](Answer& a) { a.log_probabilities[0] = -20; }));
    CHECK_FALSE(accepts(vocab, [](Answer& a) { a.rest[1] = -0.0005F; }));
    CHECK_FALSE(accepts(vocab, [](Answer& a) { a.rest[1] = 0.5F; }));
    CHECK_FALSE(accepts(vocab, [](Answer& a) { a.rest[1] = NAN; }));
  }
  CHECK_FALSE(accepts(8, [](Answer& a) { a.rest[1] = 0.0005F; }));  // where nothing is left
  CHECK(accepts(100, [](Answer& a) { a.rest[1] = 0.0005F; }));
}

TEST_CASE("an answer has at most as many rows as a probe batch has tokens") {
  CHECK(check(answer(2, limits::probe_tokens_max)).has_value());
  CHECK_FALSE(check(answer(2, limits::probe_tokens_max + 1)).has_value());
}
