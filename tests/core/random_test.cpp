// Philox against Random123's known answers; distributions against their moments and exact probabilities; the order
// statistics against numerical integration.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <functional>
#include <vector>
#include "sim/core/distributions.hpp"
#include "sim/core/elementary.hpp"
#include "sim/core/fluid.hpp"
#include "sim/core/order_statistics.hpp"
#include "sim/core/philox.hpp"

using namespace twin::core;

namespace {
struct Moments {
  double mean = 0, variance = 0;
};
Moments moments(const std::function<double(Philox&)>& draw, int n = 200000) {
  Philox rng(7, 1, 2);
  double sum = 0, squares = 0;
  for (int i = 0; i < n; ++i) {
    const double x = draw(rng);
    sum += x;
    squares += x * x;
  }
  return {sum / n, squares / n - sum / n * (sum / n)};
}

// E max = integral over x > 0 of 1 - cdf^n, less that over x < 0 of cdf^n: another form than the table was made from.
double integrated_max(double n) {
  const double h = 1e-3;
  double sum = 0;
  const auto log_cdf = [](double x) {
    return x > 0 ? std::log1p(-0.5 * std::erfc(x / std::sqrt(2.0))) : std::log(0.5 * std::erfc(-x / std::sqrt(2.0)));
  };
  for (int i = 0; i < 12000; ++i) {  // midpoint rule
    const double x = (i + 0.5) * h;
    sum += h * (-std::expm1(n * log_cdf(x)) - std::exp(n * log_cdf(-x)));
  }
  return sum;
}
}  // namespace

TEST_CASE("philox4x32-10 gives Random123's known answers", "[fast]") {
  CHECK(philox4x32({0, 0, 0, 0}, {0, 0}) == PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}) ==
        PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("a Philox is its key and counter, word by word", "[fast]") {
  Philox rng(0x299f31d0a4093822, 0x13198a2e, 0x03707344);
  for (std::uint32_t block = 0; block < 3; ++block)
    for (std::uint32_t word : philox4x32({block, 0, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}))
      CHECK(rng.next32() == word);
  Philox other(0x299f31d0a4093822, 0x13198a2e, 0x03707345);
  CHECK(other.next64() != Philox(0x299f31d0a4093822, 0x13198a2e, 0x03707344).next64());
}

TEST_CASE("stable_log and stable_exp agree with the C library to the last places", "[fast]") {
  for (int i = -20000; i <= 20000; ++i) {
    const double x = std::ldexp(1 + (i & 1023) / 1024.0, i / 25);
    REQUIRE(std::abs(stable_log(x) - std::log(x)) <= 4.5e-16 * std::abs(std::log(x)));
    const double y = i * 0.035;
    REQUIRE(std::abs(stable_exp(y) - std::exp(y)) <= 9e-16 * std::exp(y));
  }
  CHECK(stable_log(1) == 0);
  CHECK(stable_exp(0) == 1);
  CHECK(stable_exp(-800) == 0);
  CHECK(std::isinf(stable_exp(800)));
  CHECK(stable_log(0) == -std::numeric_limits<double>::infinity());
}

TEST_CASE("isqrt is the floor of the root, also at the ends", "[fast]") {
  for (std::int64_t r : {0LL, 1LL, 2LL, 3LL, 1000LL, 94906265LL, 94906266LL, 2147483647LL, 3037000498LL, 3037000499LL})
    for (std::int64_t d : {-1, 0, 1}) {
      const std::int64_t v = r * r + d;
      if (v < 0) continue;
      const Int128 root = isqrt(v);
      CHECK(bool(root * root <= v));
      CHECK(bool((root + 1) * (root + 1) > v));
    }
  CHECK(isqrt(std::numeric_limits<std::int64_t>::max()) == 3037000499);
}

TEST_CASE("normal_quantile inverts the distribution function", "[fast]") {
  CHECK(normal_quantile(0.5) == 0);
  for (double z = -8; z <= 5; z += 0.01) {
    const double p = 0.5 * std::erfc(-z / std::sqrt(2.0));
    // p carries a relative error of 1e-16, and 1e-16 / pdf of that is z's
    const double slack =
        4e-16 * p / (std::exp(-z * z / 2) * 0.3989) + 4e-15 + 2e-16 / (std::exp(-z * z / 2) * 0.3989) * (z > 0);
    REQUIRE(std::abs(normal_quantile(p) - z) <= slack);
  }
}

TEST_CASE("draws have the moments of their distributions", "[fast]") {
  // 200,000 draws: the mean is within 5 sigma/sqrt(n) = 0.011 sigma, the variance within 3 % for these kurtoses.
  const auto check = [](Moments m, double mean, double variance, double slack = 0.03) {
    CHECK(m.mean == Approx(mean).margin(0.011 * std::sqrt(variance)));
    CHECK(m.variance == Approx(variance).epsilon(slack));
  };
  check(moments([](Philox& r) { return uniform(r, 2, 4); }), 3, 4.0 / 12);
  check(moments([](Philox& r) { return normal(r, 5, 2); }), 5, 4);
  check(moments([](Philox& r) { return exponential(r, 3); }), 3, 9);
  check(moments([](Philox& r) { return weibull(r, 2, 1); }), 2, 4);
  check(moments([](Philox& r) { return weibull(r, 2, 0.7); }), 2 * std::tgamma(1 + 1 / 0.7),
        4 * (std::tgamma(1 + 2 / 0.7) - std::pow(std::tgamma(1 + 1 / 0.7), 2)), 0.06);
  check(moments([](Philox& r) { return lognormal(r, 0.3, 0.5); }), std::exp(0.3 + 0.125),
        (std::exp(0.25) - 1) * std::exp(0.6 + 0.25), 0.06);
  for (double mean : {0.3, 4.0, 9.9, 10.0, 137.5, 5000.0})
    check(moments([&](Philox& r) { return static_cast<double>(poisson(r, mean)); }), mean, mean);
  Philox rng(1, 2, 3);
  CHECK(poisson(rng, 0) == 0);
}

TEST_CASE("poisson has the exact probabilities, below is even", "[fast]") {
  // chi-square over k = 5..18 of Poisson(11): 14 cells; 45 is beyond 1 - 1e-4. below(7): 7 cells, 30 likewise.
  const int n = 200000;
  Philox rng(11, 0, 0);
  std::vector<int> seen(100, 0), even(7, 0);
  for (int i = 0; i < n; ++i) {
    const auto k = poisson(rng, 11);
    if (k < 100) ++seen[static_cast<std::size_t>(k)];
    ++even[static_cast<std::size_t>(below(rng, 7))];
  }
  double chi = 0;
  for (int k = 5; k <= 18; ++k) {
    const double expected = n * std::exp(k * std::log(11.0) - 11 - std::lgamma(k + 1.0));
    chi += std::pow(seen[static_cast<std::size_t>(k)] - expected, 2) / expected;
  }
  CHECK(chi < 45);
  chi = 0;
  for (int count : even) chi += std::pow(count - n / 7.0, 2) / (n / 7.0);
  CHECK(chi < 30);
}

TEST_CASE("the same draws on every machine", "[fast]") {
  Philox a(42, 3, 17);
  std::uint64_t hash = 1469598103934665603ULL;
  const auto add = [&](double v) {
    std::uint64_t bits = 0;
    static_assert(sizeof bits == sizeof v);
    std::memcpy(&bits, &v, sizeof v);
    hash = (hash ^ bits) * 1099511628211ULL;
  };
  for (int i = 0; i < 1000; ++i) {
    add(normal(a, 0, 1));
    add(exponential(a, 2));
    add(weibull(a, 3, 0.8));
    add(lognormal(a, 0, 1));
    add(static_cast<double>(poisson(a, 25)));
  }
  CHECK(hash == 0x4857b7c9ff5426d);
}

TEST_CASE("expected maximum of normals agrees with closed forms and with integration", "[fast]") {
  const double pi = std::acos(-1.0);
  CHECK(expected_max(1) == Approx(0).margin(1e-12));
  CHECK(expected_max(2) == Approx(1 / std::sqrt(pi)).margin(5e-7));
  CHECK(expected_max(3) == Approx(1.5 / std::sqrt(pi)).margin(5e-7));
  CHECK(expected_max(5) == Approx(5 / (4 * std::sqrt(pi)) * (1 + 6 / pi * std::asin(1.0 / 3))).margin(5e-7));
  for (std::int64_t n :
       {1, 2, 3, 4, 5, 6, 7, 11, 23, 64, 100, 1000, 1024, 9999, 16384, 131072, 777777, 1000000, 16777216}) {
    INFO("n " << n);
    CHECK(expected_max(n) == Approx(integrated_max(static_cast<double>(n))).margin(5e-7));
    CHECK(std::abs(static_cast<double>(expected_max_q20(n)) - integrated_max(static_cast<double>(n)) * 1048576) < 1.1);
  }
}

TEST_CASE("expected maximum grows with n", "[fast]") {
  for (std::int64_t n = 1; n < 20000; ++n) REQUIRE(expected_max(n + 1) > expected_max(n));
  for (std::int64_t n = 20000; n + n / 500 <= kMostOrderStatistics; n += n / 500)
    REQUIRE(expected_max_q20(n + n / 500) > expected_max_q20(n));
  CHECK_THROWS(expected_max(0));
}
