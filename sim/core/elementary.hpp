// log and exp from +, -, *, / and exact scaling alone, so that every machine gives the same bits; the C library's
// differ in the last place between versions and processors. Relative error below 4e-16 (log: also near 1). Assumes IEEE
// doubles and no contraction to fused multiply-add, as g++ -std=c++20 and clang++ on x86-64 compile them. isqrt: floor
// of the square root of an integer.
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>
#include "sim/core/check.hpp"

namespace twin::core {

constexpr double kLn2High = 6.93147180369123816490e-01;  // 32 bits of ln 2: times an exponent it is exact
constexpr double kLn2Low = 1.90821492927058770002e-10;   // the rest

// x = 2^e m with m in [sqrt(1/2), sqrt(2)); log m = 2 atanh(s), s = (m - 1) / (m + 1), |s| < 0.172: eleven terms.
inline double stable_log(double x) {
  if (!(x > 0)) return x == 0 ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  if (x > std::numeric_limits<double>::max()) return x;
  int e = 0;
  double m = std::frexp(x, &e);
  if (m < 0.70710678118654752440) {
    m *= 2;
    --e;
  }
  const double s = (m - 1) / (m + 1), s2 = s * s;
  double sum = 0;
  for (int k = 23; k >= 3; k -= 2) sum = (sum + 1.0 / k) * s2;
  return e * kLn2High + (2 * s + (2 * s * sum + e * kLn2Low));
}

// x = k ln 2 + r with |r| <= 0.35; the Taylor series of exp(r) to r^14, then exact scaling by 2^k.
inline double stable_exp(double x) {
  if (x != x) return x;
  if (x > 709.78) return std::numeric_limits<double>::infinity();
  if (x < -745.2) return 0;
  const int k = static_cast<int>(x * 1.44269504088896340736 + (x < 0 ? -0.5 : 0.5));
  const double r = (x - k * kLn2High) - k * kLn2Low;
  double sum = 1;
  for (int n = 14; n >= 2; --n) sum = 1 + sum * (r / n);
  return std::ldexp(1 + sum * r, k);
}

inline std::int64_t isqrt(std::int64_t v) {
  TWIN_CHECK(v >= 0);
  auto r = static_cast<std::int64_t>(std::sqrt(static_cast<double>(v)));  // off by one at most
  while (r > 3037000499 || r * r > v) --r;
  while (r < 3037000499 && (r + 1) * (r + 1) <= v) ++r;
  return r;
}

}  // namespace twin::core
