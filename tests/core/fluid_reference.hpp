// The solver's definition, written as plainly as it can be: every rate from nothing, every level by a scan, O(n^2).
// The solver under test must agree bit for bit.
#pragma once
#include <algorithm>
#include "sim/core/fluid.hpp"

namespace twin::core {

struct ReferenceActivity {
  bool active = false;
  std::int64_t cap = 0;
};

inline std::vector<std::int64_t> reference_rates(const FluidStructure& s,
                                                 const std::vector<ReferenceActivity>& activities) {
  const std::size_t n = s.phi.size(), m = s.capacity.size();
  std::vector<std::int64_t> rate(n, 0);
  std::vector<bool> open(n, false);
  for (std::size_t a = 0; a < n; ++a) {
    open[a] = activities[a].active && activities[a].cap > 0;
    for (std::size_t k = s.offset[a]; k < s.offset[a + 1]; ++k)
      if (s.weight[k] > 0 && s.capacity[static_cast<std::size_t>(s.link[k])] == 0) open[a] = false;
  }
  std::vector<Int128> left(m);
  for (std::size_t l = 0; l < m; ++l) left[l] = Int128{s.capacity[l]} * kWeightOne;
  while (std::find(open.begin(), open.end(), true) != open.end()) {
    std::vector<Int128> demand(m, 0);
    for (std::size_t a = 0; a < n; ++a)
      for (std::size_t k = s.offset[a]; open[a] && k < s.offset[a + 1]; ++k)
        demand[static_cast<std::size_t>(s.link[k])] += Int128{s.weight[k]} * s.phi[a];
    Int128 level = Int128{1} << 100;
    for (std::size_t l = 0; l < m; ++l)
      if (demand[l] > 0) level = std::min(level, left[l] / demand[l]);
    const auto cap_level = [&](std::size_t a) { return Int128{(activities[a].cap + s.phi[a] - 1) / s.phi[a]}; };
    for (std::size_t a = 0; a < n; ++a)
      if (open[a]) level = std::min(level, cap_level(a));
    std::vector<std::size_t> fixed;
    for (std::size_t a = 0; a < n; ++a) {
      bool fix = open[a] && cap_level(a) == level;
      for (std::size_t k = s.offset[a]; open[a] && k < s.offset[a + 1]; ++k) {
        const auto l = static_cast<std::size_t>(s.link[k]);
        if (s.weight[k] > 0 && left[l] / demand[l] == level) fix = true;
      }
      if (fix) fixed.push_back(a);
    }
    for (std::size_t a : fixed) {
      open[a] = false;
      rate[a] = static_cast<std::int64_t>(std::max(Int128{1}, std::min(Int128{activities[a].cap}, level * s.phi[a])));
      for (std::size_t k = s.offset[a]; k < s.offset[a + 1]; ++k) {
        const auto l = static_cast<std::size_t>(s.link[k]);
        left[l] = std::max(Int128{0}, left[l] - Int128{s.weight[k]} * rate[a]);
      }
    }
  }
  return rate;
}

}  // namespace twin::core
