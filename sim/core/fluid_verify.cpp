// Counts where an allocation breaks the constraints or the max-min property (fluid.hpp), from the definition: by sums
// over the links, no filling. Rounding is allowed for: two units of level on a full link, one unit for each activity
// at the least rate.
#include "sim/core/check.hpp"
#include "sim/core/fluid.hpp"
#include "sim/core/fluid_arithmetic.hpp"

namespace twin::core {

using detail::spread;

std::int64_t Fluid::verify() const {
  std::vector<std::int64_t> rates;
  rates.reserve(activities_.size());
  for (const Activity& x : activities_) rates.push_back(x.rate);
  return verify(rates);
}

std::int64_t Fluid::verify(const std::vector<std::int64_t>& rates) const {
  TWIN_CHECK(!dirty() && rates.size() == activities_.size());
  struct Sum {
    std::int64_t top_rate = 0, top_phi = 1;  // the user with the largest rate / phi
    bool full = false;
  };
  std::vector<Sum> sums(links_.size());
  std::int64_t violations = 0;
  for (std::size_t i = 0; i < links_.size(); ++i) {
    const Link& l = links_[i];
    Sum& s = sums[i];
    Int128 used = 0, demand = 0, least = 0;  // least: weights of those at the least rate, 1
    for (std::uint32_t k = 0; k < l.count; ++k) {
      const User& u = users_[l.first + k];
      const std::int64_t rate = rates[static_cast<std::size_t>(u.activity)], phi = at(u.activity).phi;
      used += Int128{u.weight} * rate;
      if (rate > 0) demand += Int128{u.weight} * phi;
      if (rate == 1) least += u.weight;
      if (rate > 1 && Int128{rate} * s.top_phi > Int128{s.top_rate} * phi) {
        s.top_rate = rate;
        s.top_phi = phi;
      }
    }
    if (used > spread(l.capacity) + least) ++violations;
    s.full = spread(l.capacity) - used < 2 * demand;  // no room for two more units of level
  }
  for (std::size_t a = 0; a < activities_.size(); ++a) {
    const Activity& x = activities_[a];
    if (!x.active) continue;
    const bool stalled = x.dead > 0 || x.cap == 0;
    bool right = stalled ? rates[a] == 0 : rates[a] == x.cap;
    for (std::uint32_t k = x.begin; k < x.end && !right && !stalled && rates[a] > 0 && rates[a] < x.cap; ++k) {
      const Sum& s = sums[static_cast<std::size_t>(uses_[k].link)];
      right = s.full && Int128{s.top_rate} * x.phi <= Int128{rates[a]} * s.top_phi;
    }
    if (!right) ++violations;
  }
  return violations;
}

}  // namespace twin::core
