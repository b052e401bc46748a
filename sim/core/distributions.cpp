// Normal draws: Wichura's AS 241 (Applied Statistics 37, 1988) inverts the distribution function to 1e-15. Poisson: the
// probabilities are taken off one uniform, outwards from the mode, whose own is Stirling's.
#include "sim/core/distributions.hpp"
#include <cmath>
#include "sim/core/check.hpp"
#include "sim/core/elementary.hpp"

namespace twin::core {
namespace {

// Wichura's three rational approximations: near the middle in q^2, then in the tail in r = sqrt(-log p).
constexpr double kA[] = {3.3871328727963666080e+0, 1.3314166789178437745e+2, 1.9715909503065514427e+3,
                         1.3731693765509461125e+4, 4.5921953931549871457e+4, 6.7265770927008700853e+4,
                         3.3430575583588128105e+4, 2.5090809287301226727e+3};
constexpr double kB[] = {1.0,
                         4.2313330701600911252e+1,
                         6.8718700749205790830e+2,
                         5.3941960214247511077e+3,
                         2.1213794301586595867e+4,
                         3.9307895800092710610e+4,
                         2.8729085735721942674e+4,
                         5.2264952788528545610e+3};
constexpr double kC[] = {1.42343711074968357734e+0, 4.63033784615654529590e+0, 5.76949722146069140550e+0,
                         3.64784832476320460504e+0, 1.27045825245236838258e+0, 2.41780725177450611770e-1,
                         2.27238449892691845833e-2, 7.74545014278341407640e-4};
constexpr double kD[] = {1.0,
                         2.05319162663775882187e+0,
                         1.67638483018380384940e+0,
                         6.89767334985100004550e-1,
                         1.48103976427480074590e-1,
                         1.51986665636164571966e-2,
                         5.47593808499534494600e-4,
                         1.05075007164441684324e-9};
constexpr double kE[] = {6.65790464350110377720e+0, 5.46378491116411436990e+0, 1.78482653991729133580e+0,
                         2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
                         2.71155556874348757815e-5, 2.01033439929228813265e-7};
constexpr double kF[] = {1.0,
                         5.99832206555887937690e-1,
                         1.36929880922735805310e-1,
                         1.48753612908506148525e-2,
                         7.86869131145613259100e-4,
                         1.84631831751005468180e-5,
                         1.42151175831644588870e-7,
                         2.04426310338993978564e-15};

double ratio(const double (&numerator)[8], const double (&denominator)[8], double x) {
  double n = 0, d = 0;
  for (int i = 7; i >= 0; --i) {
    n = n * x + numerator[i];
    d = d * x + denominator[i];
  }
  return n / d;
}

// log of k! by Stirling's series; relative error below 1e-12 for k >= 8.
double log_factorial(std::int64_t k) {
  const double x = static_cast<double>(k) + 1;
  const double series = (1.0 / 12 - (1.0 / 360 - (1.0 / 1260 - 1.0 / 1680 / (x * x)) / (x * x)) / (x * x)) / x;
  return (x - 0.5) * stable_log(x) - x + 0.91893853320467274178 + series;
}

}  // namespace

double normal_quantile(double p) {
  TWIN_CHECK(p > 0 && p < 1);
  const double q = p - 0.5;
  if (std::abs(q) <= 0.425) return q * ratio(kA, kB, 0.180625 - q * q);
  const double r = std::sqrt(-stable_log(q < 0 ? p : 1 - p));
  const double z = r <= 5 ? ratio(kC, kD, r - 1.6) : ratio(kE, kF, r - 5);
  return q < 0 ? -z : z;
}

double uniform(Philox& rng, double low, double high) { return low + (high - low) * rng.uniform(); }

std::int64_t below(Philox& rng, std::int64_t n) {
  TWIN_CHECK(n >= 1);
  __extension__ typedef unsigned __int128 Wide;
  const auto range = static_cast<std::uint64_t>(n);
  const std::uint64_t reject = (0 - range) % range;  // 2^64 mod n
  while (true) {
    const Wide product = Wide{rng.next64()} * range;
    if (static_cast<std::uint64_t>(product) >= reject) return static_cast<std::int64_t>(product >> 64);
  }
}

double normal(Philox& rng, double mean, double deviation) { return mean + deviation * normal_quantile(rng.uniform()); }

double lognormal(Philox& rng, double mu, double sigma) { return stable_exp(normal(rng, mu, sigma)); }

double exponential(Philox& rng, double mean) { return -mean * stable_log(rng.uniform()); }

double weibull(Philox& rng, double scale, double shape) {
  return scale * stable_exp(stable_log(-stable_log(rng.uniform())) / shape);
}

// Takes the probabilities off one uniform: from 0 up where the mean is small, else from the mode outwards, so that the
// number of steps is that of the standard deviation.
std::int64_t poisson(Philox& rng, double mean) {
  TWIN_CHECK(mean >= 0 && mean <= 1e9);
  double u = rng.uniform();
  if (mean < 10) {
    double p = stable_exp(-mean);
    std::int64_t k = 0;
    for (; u >= p && k < 200; ++k) {
      u -= p;
      p *= mean / static_cast<double>(k + 1);
    }
    return k;
  }
  const auto mode = static_cast<std::int64_t>(mean);
  const double peak = stable_exp(static_cast<double>(mode) * stable_log(mean) - mean - log_factorial(mode));
  if (u < peak) return mode;
  u -= peak;
  std::int64_t up = mode, down = mode;
  double p_up = peak, p_down = peak;
  while (p_up > 1e-300 || p_down > 1e-300) {
    p_up *= mean / static_cast<double>(++up);
    if (u < p_up) return up;
    u -= p_up;
    p_down *= static_cast<double>(down) / mean;
    if (down > 0 && u < p_down) return down - 1;
    if (down > 0) u -= p_down, --down;
  }
  return mode;  // rounding left less than 1e-15 of probability
}

}  // namespace twin::core
