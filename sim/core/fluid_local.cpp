// Starts and ends that move no other rate, found by looking at the activity's own links alone, with the bits of a full
// filling.
//
// Let A be the activity, a(M) = W(A,M) phi(A), l its level, t(M) the highest level of the others on link M, d(M) the
// demand of all on M with A. Say that M is idle if capacity - sum of W r (with A) >= 2 d(M).
//   End    others keep their bits if every shared M is idle, or t(M) < l. Filling with A, no such M fixed another: one
//          that fixes at level k fixes all that are open, A too, so l = k <= t(M); an idle one never is the lowest,
//          since at level k the open ones still take at least (k - 1) x open, so left >= (k + 1) x open. Without A the
//          levels of such M are higher still, so the filling takes the same steps.
//   Start  l = the smallest of A's limit and, over M, floor((capacity - others' W r) / a(M)). Others keep their bits,
//   and A
//          has level l, if every shared M is idle, or (l - t(M)) a(M) >= 2 d(M): then at each k <= t(M), left >=
//          (k - 1) x open + (l - k + 1) a(M) >= (k + 1) x open, so M is not the lowest before only A is open on it,
//          when its level is the one that l took the smallest of.
// Rates of 1 or 0 are outside of this (the filling rounds 0 up to 1, stalled ones are not filled): then, and where a
// link waits for solve() or another just started, the answer is no and the component is filled. M need only be the
// tight links with A active: the others take no part in either filling (fluid_slack.cpp; without A they are slack all
// the more).
#include <algorithm>
#include "sim/core/fluid.hpp"
#include "sim/core/fluid_arithmetic.hpp"

namespace twin::core {

using detail::quotient;
using detail::spread;

bool Fluid::others_on(const Use& use, std::int32_t activity, Others& out) const {
  const Link& l = links_[static_cast<std::size_t>(use.link)];
  if (l.dirty) return false;
  out = {};
  for (const User *u = &users_[l.first], *last = u + l.count; u != last; ++u) {
    if (u->activity == activity) continue;
    const Activity& other = at(u->activity);
    if (other.fresh || other.rate <= 1) return false;
    out.used += Int128{u->weight} * other.rate;
    out.level = std::max(out.level, other.level);
  }
  return true;
}

bool Fluid::ends_alone(std::int32_t activity) const {
  const Activity& x = at(activity);
  Others others;
  for (std::uint32_t k = x.begin; k < x.end; ++k) {
    const Use& use = uses_[k];
    const Link& l = links_[static_cast<std::size_t>(use.link)];
    if (l.count == 1 || !tight(l)) continue;
    if (x.fresh || x.rate <= 1 || !others_on(use, activity, others)) return false;
    if (others.level < x.level) continue;
    if (spread(l.capacity) - others.used - Int128{use.weight} * x.rate < 2 * l.demand) return false;
  }
  return true;
}

bool Fluid::starts_alone(std::int32_t activity) {
  Activity& x = at(activity);
  if (x.dead > 0) return false;
  Others others;
  std::int64_t level = x.cap_level;
  for (std::uint32_t k = x.begin; k < x.end; ++k) {
    const Use& use = uses_[k];
    const Link& l = links_[static_cast<std::size_t>(use.link)];
    if (l.count == 1) {
      level = std::min(level, use.alone);
      continue;
    }
    if (!tight(l)) continue;
    if (!others_on(use, activity, others)) return false;
    const Int128 left = spread(l.capacity) - others.used;
    if (left <= 0) return false;
    level = std::min(level, quotient(left, Int128{use.weight} * x.phi));
  }
  const auto rate = static_cast<std::int64_t>(std::min(Int128{x.cap}, Int128{level} * x.phi));
  if (level <= 1 || rate <= 1) return false;
  for (std::uint32_t k = x.begin; k < x.end; ++k) {
    const Use& use = uses_[k];
    const Link& l = links_[static_cast<std::size_t>(use.link)];
    if (l.count == 1 || !tight(l)) continue;
    others_on(use, activity, others);
    if (Int128{level - others.level} * use.weight * x.phi >= 2 * l.demand) continue;
    if (spread(l.capacity) - others.used - Int128{use.weight} * rate < 2 * l.demand) return false;
  }
  x.level = level;
  x.next_rate = rate;
  return true;
}

}  // namespace twin::core
