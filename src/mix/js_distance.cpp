#include "grapevine/mix/js_distance.hpp"

#include "grapevine/base/portable_math.hpp"

#include <cmath>
#include <numbers>

namespace grapevine {
namespace {

struct Row {
  std::span<std::uint32_t const> tokens;
  std::span<float const> logs;
  double rest = 0;

  // The most that a token not listed can have.
  [[nodiscard]] double unlisted_max() const {
    return std::min(rest, portable::exp(std::ranges::min(logs)));
  }
};

Row row_of(ProbeAnswer const& answer, std::size_t index) {
  auto const listed = answer.listed();
  return {std::span(answer.tokens).subspan(index * listed, listed),
          std::span(answer.log_probabilities).subspan(index * listed, listed), answer.rest[index]};
}

// g of the header in nats.
double gap(double r) {
  constexpr double series_until = 0.0625;
  if (r < series_until) {
    double const s = r * r;
    return s * (1.0 / 2 + s * (1.0 / 12 + s * (1.0 / 30 + s / 56)));
  }
  double const above = (1 + r) * portable::log(1 + r);
  double const below = r < 1 ? (1 - r) * portable::log(1 - r) : 0;
  return (above + below) / 2;
}

// The share in JSD of tokens that have p with one side and q with the other.
double share(double p, double q) {
  double const sum = p + q;
  return sum > 0 ? sum / 2 * gap(std::abs(p - q) / sum) / std::numbers::ln2 : 0;
}

// The same, where of the other side it is only known that q is at most `bound`.
double share_at_least(double p, double bound) { return p > bound ? share(p, bound) : 0; }

// The tokens that one side lists and the other does not.
class OneSided {
 public:
  explicit OneSided(Row const& other) : unlisted_max_(other.unlisted_max()), rest_(other.rest) {}

  void add(double p) {
    mass_ += p;
    ++count_;
    each_ += share_at_least(p, unlisted_max_);
  }
  [[nodiscard]] double mass() const { return mass_; }
  [[nodiscard]] double mass_of_other_max() const {
    return std::min(rest_, static_cast<double>(count_) * unlisted_max_);
  }
  // Token by token or all as one, whichever says more.
  [[nodiscard]] double at_least() const {
    return std::max(each_, share_at_least(mass_, mass_of_other_max()));
  }
  // What is left of the other's rest for the tokens that nobody lists.
  [[nodiscard]] double rest_of_other_min() const { return rest_ - mass_of_other_max(); }

 private:
  double unlisted_max_;
  double rest_;
  double mass_ = 0;
  double each_ = 0;
  std::size_t count_ = 0;
};

// Any grouping of tokens has at most the divergence of the tokens themselves. Two are tried: what
// only one side lists apart from what nobody lists, bounded; or both in one bucket, exactly.
double row_divergence(Row const& a, Row const& b) {
  OneSided only_a(b), only_b(a);
  double both = 0;
  std::size_t i = 0, j = 0;
  while (i < a.tokens.size() || j < b.tokens.size()) {
    bool const in_a = i < a.tokens.size() && (j == b.tokens.size() || a.tokens[i] <= b.tokens[j]);
    bool const in_b = j < b.tokens.size() && (i == a.tokens.size() || b.tokens[j] <= a.tokens[i]);
    double const p = in_a ? portable::exp(a.logs[i++]) : 0;
    double const q = in_b ? portable::exp(b.logs[j++]) : 0;
    if (in_a && in_b)
      both += share(p, q);
    else if (in_a)
      only_a.add(p);
    else
      only_b.add(q);
  }
  double const nobody = std::max(share_at_least(only_b.rest_of_other_min(), b.rest),
                                 share_at_least(only_a.rest_of_other_min(), a.rest));
  double const apart = only_a.at_least() + only_b.at_least() + nobody;
  double const lumped = share(only_a.mass() + a.rest, only_b.mass() + b.rest);
  return both + std::max(apart, lumped);
}

}  // namespace

Result<double> js_distance(ProbeAnswer const& a, ProbeAnswer const& b) {
  if (a.vocab != b.vocab || a.rows() != b.rows() || a.rows() == 0)
    return fail(Errc::schema_mismatch, "answers to other probe batches");
  double sum = 0;
  for (std::size_t row = 0; row < a.rows(); ++row)
    sum += std::sqrt(std::min(1.0, row_divergence(row_of(a, row), row_of(b, row))));
  return sum / static_cast<double>(a.rows());
}

}  // namespace grapevine
