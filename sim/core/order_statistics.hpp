// Expected maximum c(n) of n independent standard normals: what a join over n ranks waits for beyond the mean, in
// standard deviations. c(n) = integral of x n pdf(x) cdf(x)^(n-1); c(1) = 0, c(2) = 1/sqrt(pi), c(1000) = 3.2414, about
// sqrt(2 ln n) for large n. From a table in log n and a polynomial of degree four between its entries: within 5e-7 of
// the integral, increasing in n, and the same bits on every machine. Range: 1 <= n <= 2^24.
#pragma once
#include <cstdint>

namespace twin::core {

constexpr std::int64_t kMostOrderStatistics = std::int64_t{1} << 24;

double expected_max(std::int64_t n);
std::int64_t expected_max_q20(std::int64_t n);  // in 2^-20 of a standard deviation, nearest

}  // namespace twin::core
