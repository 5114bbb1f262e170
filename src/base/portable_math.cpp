#include "grapevine/base/portable_math.hpp"

#include <cmath>
#include <numbers>

namespace grapevine::portable {

double exp(double x) {
  if (x < -700) return 0;
  if (x > 700) return INFINITY;
  // x = n ln 2 + r with |r| <= ln 2 / 2, in two parts so that r keeps its low bits.
  constexpr double ln2_high = 0x1.62e42fefa0000p-1;
  constexpr double ln2_low = 0x1.cf79abc9e3b3ap-40;
  double const n = std::floor(x * std::numbers::log2e + 0.5);
  double const r = (x - n * ln2_high) - n * ln2_low;
  double sum = 1;
  for (int k = 13; k >= 1; --k) sum = 1 + sum * r / k;
  return std::ldexp(sum, static_cast<int>(n));
}

double log(double x) {
  int exponent = 0;
  double mantissa = std::frexp(x, &exponent);
  if (mantissa < std::numbers::sqrt2 / 2) {
    mantissa *= 2;
    --exponent;
  }
  // log m = 2 artanh s with |s| < 0.172.
  double const s = (mantissa - 1) / (mantissa + 1);
  double sum = 0;
  for (int k = 21; k >= 1; k -= 2) sum = sum * s * s + 1.0 / k;
  return 2 * s * sum + exponent * std::numbers::ln2;
}

double cos_pi(double x) {
  double const y = std::numbers::pi * (0.5 - x);  // cos(pi x) = sin y
  double sum = 1;
  for (int k = 16; k >= 2; k -= 2) sum = 1 - sum * y * y / (k * (k + 1));
  return sum * y;
}

double power(double base, unsigned long long exponent) {
  double result = 1;
  for (; exponent > 0; exponent >>= 1) {
    if (exponent & 1) result *= base;
    base *= base;
  }
  return result;
}

}  // namespace grapevine::portable
