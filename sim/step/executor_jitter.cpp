#include "sim/step/executor_jitter.hpp"
#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include "sim/core/elementary.hpp"
#include "sim/core/fluid.hpp"
#include "sim/core/order_statistics.hpp"

namespace twin::step {
namespace {

using core::Int128;

// Var(max of 2^k standard normals), 2^20 = 1; by quadrature of n phi(x) Phi(x)^(n-1) (step 1/750, checked at n = 2: 1 -
// 1/pi).
constexpr std::array<std::int64_t, 25> kVarianceOfMax = {
    1048576, 714804, 515601, 391011, 309340, 253354, 213371, 183757, 161114, 143321, 129009, 117265, 107463,
    99162,   92044,  85873,  80473,  75708,  71472,  67682,  64272,  61186,  58382,  55821,  53475};

std::int64_t scale_q20(std::int64_t value, std::int64_t q20) {
  return static_cast<std::int64_t>((static_cast<Int128>(value) * q20) >> 20);
}

std::int64_t late_by(const Arrival& a, std::int64_t expected_max_q20) { return scale_q20(a.sigma, expected_max_q20); }

}  // namespace

std::int64_t variance_of_max_q20(std::int64_t n) {
  if (n <= 1) return kVarianceOfMax.front();
  const auto k = static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(n)) - 1);
  if (k + 1 >= kVarianceOfMax.size()) return kVarianceOfMax.back();
  const auto low = kVarianceOfMax[k], high = kVarianceOfMax[k + 1];
  const auto above = n - (std::int64_t{1} << k);
  return low - static_cast<std::int64_t>((static_cast<Int128>(low - high) * above) >> k);
}

std::int64_t lateness_sigma(std::int64_t variance, std::int64_t spread) {
  const auto square = static_cast<Int128>(variance) + ((static_cast<Int128>(spread) * spread) >> 40);
  if (square <= 0) return 0;
  if (square > std::numeric_limits<std::int64_t>::max())  // lateness over 3 s: to 2^-12 of it
    return core::isqrt(static_cast<std::int64_t>(square >> 24)) << 12;
  return core::isqrt(static_cast<std::int64_t>(square));
}

Join join(std::vector<Arrival>& arrivals, std::int64_t members) {
  std::int64_t latest = arrivals.front().time;
  for (const auto& a : arrivals) latest = std::max(latest, a.time);
  const auto widest_possible = core::expected_max_q20(members);
  std::erase_if(arrivals, [&](const Arrival& a) { return a.time + late_by(a, widest_possible) < latest; });
  std::sort(arrivals.begin(), arrivals.end(), [](const Arrival& a, const Arrival& b) { return a.time > b.time; });
  Join result;
  std::int64_t contenders = 0;
  for (std::size_t i = 0, j = 0; i < arrivals.size(); i = j) {  // runs of equal time: all count for each other
    std::int64_t widest = 0;
    for (; j < arrivals.size() && arrivals[j].time == arrivals[i].time; ++j) {
      contenders += arrivals[j].count;
      widest = std::max(widest, arrivals[j].sigma);
    }
    if (widest == 0) continue;
    const auto at = arrivals[i].time + scale_q20(widest, core::expected_max_q20(contenders));
    result.delay = std::max(result.delay, at - latest);
  }
  const auto& widest = *std::max_element(arrivals.begin(), arrivals.end(), [](const Arrival& a, const Arrival& b) {
    if (a.sigma != b.sigma) return a.sigma < b.sigma;
    return a.variance != b.variance ? a.variance < b.variance : a.spread < b.spread;
  });
  const auto ratio = variance_of_max_q20(contenders);
  result.variance = scale_q20(widest.variance, ratio);
  result.spread = scale_q20(widest.spread, core::isqrt(ratio << 20));
  return result;
}

}  // namespace twin::step
