// exp, log and cosine from IEEE operations alone. The ones of libm may differ in the last bit from
// machine to machine (it picks variants by CPU); a simulation must not. Accurate to about 1e-11,
// which is far below what a float keeps.
#pragma once

namespace grapevine::portable {

[[nodiscard]] double exp(double x);
[[nodiscard]] double log(double x);     // x > 0 and finite
[[nodiscard]] double cos_pi(double x);  // cos(pi x) for x in [0, 1]
[[nodiscard]] double power(double base, unsigned long long exponent);

}  // namespace grapevine::portable
