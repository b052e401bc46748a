// Slack links: those that their active users could not fill even if nothing else held them back. They take no part in
// components and fillings, with the bits of a filling over all links.
//
// Let most(A) = min(cap level, lowest of floor(C(L) / W(A,L) phi(A)) over A's links): a link's level is floor(left /
// open) with left <= C and open >= W phi, so no A is fixed at a level above most(A). A link M is slack if
//   sum over its active users of W phi (most + 2) <= C(M).
// Claim: in the filling over all links, no slack M ever has the lowest level, alone or in a tie.
//   A fixed B takes W r <= W max(1, phi most) <= W phi (most + 1), a stalled one nothing. So with users open on M,
//   left(M) >= sum over the open of W phi (most + 2), and level(M) >= min over the open of most + 2. Let A be an open
//   user of M that has that minimum. Its cap level, or the level of one of its links N now, is <= most(A) < level(M).
//   So M is not the lowest.
// The lowest level, and all that tie at it, are then those over the rest of the links, step by step; that left(M) is
// not kept changes nothing. A dead link in use is never slack. The margin keeps a link that its users fill exactly.
// Transitions: where a start, a cap or a capacity makes a link tight, the activity that did it is to be solved and
// finds the link's users in its component. Where one makes it slack, or an end that was not alone does, the link waits
// for solve(), which then seeds each of its users, as they may be in several components.
#include <algorithm>
#include "sim/core/check.hpp"
#include "sim/core/fluid.hpp"
#include "sim/core/fluid_arithmetic.hpp"

namespace twin::core {

bool Fluid::tight(const Link& l) { return l.bound > detail::spread(l.capacity); }

bool Fluid::shares(const Activity& x) const {
  for (std::uint32_t k = x.begin; k < x.end; ++k) {
    const Link& l = links_[static_cast<std::size_t>(uses_[k].link)];
    if (l.count > 1 && tight(l)) return true;
  }
  return false;
}

// After a change of its cap or of its level alone.
void Fluid::rebound(Activity& x) {
  const std::int64_t grown = std::min(x.alone, x.cap_level) - x.most;
  x.most += grown;
  for (std::uint32_t k = x.begin; k < x.end; ++k) {
    Link& l = link_at(uses_[k].link);
    const bool was_tight = tight(l);
    l.bound += Int128{uses_[k].weight} * x.phi * grown;
    if (was_tight && !tight(l)) touch(uses_[k].link);
  }
}

void Fluid::set_capacity(std::int32_t link, std::int64_t capacity) {
  TWIN_CHECK(capacity >= 0 && capacity <= kUncapped);
  Link& l = link_at(link);
  if (l.capacity == capacity) return;
  const int dies = (capacity == 0) - (l.capacity == 0);
  l.capacity = capacity;
  for (std::uint32_t i = 0; i < l.count; ++i) at(users_[l.first + i].activity).dead += dies;
  for (Activity& x : activities_)
    if (std::any_of(uses_.begin() + x.begin, uses_.begin() + x.end, [link](const Use& u) { return u.link == link; })) {
      set_alone(x);
      if (x.active) rebound(x);
    }
  if (l.count > 0) touch(link);
}

void Fluid::set_cap(std::int32_t activity, std::int64_t cap) {
  Activity& x = at(activity);
  TWIN_CHECK(x.active && cap >= 0 && cap <= kUncapped);
  if (x.cap == cap) return;
  x.cap = cap;
  x.cap_level = (cap + x.phi - 1) / x.phi;
  rebound(x);
  dirty_activities_.push_back(activity);
}

}  // namespace twin::core
