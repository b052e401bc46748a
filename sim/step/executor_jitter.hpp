// Jitter at a join, as expected maxima of normal lateness; integers only, and a function of the multiset of arrivals
// alone.
//
// Arrival i: `count` ranks whose last post is at time_i on average, late by a normal with sigma_i^2 = variance_i +
// spread_i^2 (variance: white noise of ops, adds; spread: persistent speed difference, adds linearly). With E(n) the
// expected largest of n standard normals and N_j the contenders that arrive no earlier than j, the join is expected at
//     max over contenders j of time_j + E(N_j) sigma_j,     contenders: those with time + E(all) sigma >= latest time.
// After it the group shares one lateness: that of the widest contender times the relative variance of the maximum of N
// normals (0.68 for 2, 0.37 for 8, 0.18 for 128), which is what joins of *other* communicators still see. Range:
// normal, independent lateness between ranks; stalls with heavy tails are not in it.
#pragma once
#include <cstdint>
#include <vector>

namespace twin::step {

// Sums of variances saturate here (ns^2: a deviation of 1.5 s).
constexpr std::int64_t kMostVariance = std::int64_t{1} << 61;

struct Arrival {
  std::int64_t time = 0;
  std::int64_t sigma = 0;     // ns
  std::int64_t variance = 0;  // ns^2
  std::int64_t spread = 0;    // 2^-20 ns
  std::int64_t count = 1;
};

struct Join {
  std::int64_t delay = 0;     // ns after the latest arrival
  std::int64_t variance = 0;  // left to the members
  std::int64_t spread = 0;
};

std::int64_t lateness_sigma(std::int64_t variance, std::int64_t spread);
// `arrivals` is reordered. `members`: sum of all counts.
Join join(std::vector<Arrival>& arrivals, std::int64_t members);
// Variance of the largest of n standard normals, 2^20 = 1.
std::int64_t variance_of_max_q20(std::int64_t n);

}  // namespace twin::step
