#include "grapevine/tensor/probe_answer.hpp"

#include "grapevine/base/assert.hpp"
#include "grapevine/base/portable_math.hpp"

#include <cmath>
#include <numeric>

namespace grapevine {
namespace {

// What the rounding of fp32 leaves of a sum of 1, with much to spare.
constexpr double sum_tolerance = 1e-3;

Result<> require(bool holds, char const* what) {
  if (holds) return {};
  return fail(Errc::malformed, std::string("a probe answer with ") + what);
}

std::vector<std::uint32_t> likeliest(std::span<float const> values, std::size_t count) {
  std::vector<std::uint32_t> order(values.size());
  std::iota(order.begin(), order.end(), 0U);
  auto const middle = order.begin() + static_cast<std::ptrdiff_t>(count);
  auto const before = [values](std::uint32_t a, std::uint32_t b) {
    return values[a] != values[b] ? values[a] > values[b] : a < b;
  };
  std::nth_element(order.begin(), middle, order.end(), before);
  order.resize(count);
  std::ranges::sort(order);
  return order;
}

Result<> check_row(ProbeAnswer const& answer, std::size_t row) {
  auto const listed = answer.listed();
  auto const tokens = std::span(answer.tokens).subspan(row * listed, listed);
  auto const logs = std::span(answer.log_probabilities).subspan(row * listed, listed);
  bool const increasing =
      std::ranges::adjacent_find(tokens, std::greater_equal<>{}) == tokens.end();
  TRY(require(increasing, "tokens out of order"));
  TRY(require(tokens.back() < answer.vocab, "a token out of the vocabulary"));
  double sum = answer.rest[row];
  TRY(require(sum >= 0 && sum <= 1, "a rest that is no probability"));
  TRY(require(listed < answer.vocab || sum == 0, "a rest where every token is listed"));
  for (float const log : logs) {
    TRY(require(std::isfinite(log) && log <= 0, "a log-probability out of range"));
    sum += portable::exp(log);
  }
  return require(std::abs(sum - 1) <= sum_tolerance, "a row that does not add up to 1");
}

}  // namespace

Result<> append_row(ProbeAnswer& answer, std::span<float const> log_probabilities) {
  ASSERT(log_probabilities.size() == answer.vocab && answer.vocab > 0);
  for (float const log : log_probabilities)
    if (!std::isfinite(log)) return fail(Errc::not_finite, "in the answer to the probe batch");
  auto const listed = likeliest(log_probabilities, answer.listed());
  for (auto const token : listed) {
    answer.tokens.push_back(token);
    answer.log_probabilities.push_back(std::min(0.0F, log_probabilities[token]));
  }
  double rest = 0;
  auto next = listed.begin();
  for (std::uint32_t token = 0; token < answer.vocab; ++token) {
    if (next != listed.end() && *next == token)
      ++next;
    else
      rest += portable::exp(log_probabilities[token]);
  }
  answer.rest.push_back(static_cast<float>(std::min(1.0, rest)));
  return {};
}

Result<> check(ProbeAnswer const& answer) {
  TRY(require(answer.vocab > 0 && answer.vocab <= limits::model_vocab_max, "another vocabulary"));
  auto const rows = answer.rows();
  TRY(require(rows > 0 && rows <= limits::probe_tokens_max, "another number of rows"));
  auto const values = rows * answer.listed();
  TRY(require(answer.tokens.size() == values && answer.log_probabilities.size() == values,
              "another number of tokens"));
  for (std::size_t row = 0; row < rows; ++row) {
    TRY(check_row(answer, row));
  }
  return {};
}

}  // namespace grapevine
