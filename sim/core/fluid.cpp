// Progressive filling on the touched component (mathematics: fluid.hpp). Active users of a link lie together in one
// array, so that start and end are swaps. An activity that shares no tight link, the common case in a step, needs no
// filling: its level with no other active is known from the start. Otherwise shared links wait in a heap by a level
// that can only rise; caps, and links that one activity has for itself, in sorted order.
#include "sim/core/fluid.hpp"
#include <algorithm>
#include <cmath>
#include "sim/core/check.hpp"
#include "sim/core/fluid_arithmetic.hpp"

namespace twin::core {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

using detail::quotient;
using detail::spread;

}  // namespace

std::int64_t Fluid::rate_at(const Activity& x, std::int64_t level) {
  if (x.cap == 0) return 0;
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::min(Int128{x.cap}, Int128{level} * x.phi)));
}

std::int64_t fluid_rate(double bytes_per_s) {
  const double rate = bytes_per_s * 1e-9 * 4294967296.0;
  if (!(rate > 0)) return 0;
  return rate >= static_cast<double>(kUncapped) ? kUncapped : std::llround(rate);
}

double fluid_bytes_per_s(std::int64_t rate) { return static_cast<double>(rate) / 4294967296.0 * 1e9; }

std::int64_t fluid_weight(double weight) { return std::llround(weight * static_cast<double>(kWeightOne)); }

Int128 fluid_bytes(std::int64_t bytes) { return Int128{bytes} << 32; }

std::int32_t FluidStructure::add(std::int64_t phi_of_one,
                                 const std::vector<std::pair<std::int32_t, std::int64_t>>& uses) {
  for (const auto& [l, w] : uses) {
    link.push_back(l);
    weight.push_back(w);
  }
  offset.push_back(link.size());
  phi.push_back(phi_of_one);
  return static_cast<std::int32_t>(phi.size()) - 1;
}

Fluid::Fluid(const FluidStructure& structure) {
  const auto& s = structure;
  TWIN_CHECK(s.offset.size() == s.phi.size() + 1 && s.offset.front() == 0);
  TWIN_CHECK(s.link.size() == s.weight.size() && s.offset.back() == s.link.size());
  TWIN_CHECK(s.link.size() < std::numeric_limits<std::uint32_t>::max());
  activities_.resize(s.phi.size());
  links_.resize(s.capacity.size());
  uses_.reserve(s.link.size());
  for (std::size_t a = 0; a < s.phi.size(); ++a) {
    TWIN_CHECK(s.phi[a] >= 1 && s.phi[a] <= kWeightOne && s.offset[a] <= s.offset[a + 1]);
    activities_[a].phi = s.phi[a];
    activities_[a].begin = static_cast<std::uint32_t>(uses_.size());
    for (std::size_t k = s.offset[a]; k < s.offset[a + 1]; ++k) {
      TWIN_CHECK(s.link[k] >= 0 && static_cast<std::size_t>(s.link[k]) < links_.size());
      TWIN_CHECK(s.weight[k] >= 0 && s.weight[k] <= kUncapped >> 16);
      if (s.weight[k] == 0) continue;
      Link& l = link_at(s.link[k]);
      if (l.mark == a + 1) {  // named twice; until the users are laid out, count holds the last use
        uses_[l.count].weight += s.weight[k];
        continue;
      }
      l.mark = a + 1;
      l.count = static_cast<std::uint32_t>(uses_.size());
      uses_.push_back({s.link[k], 0, s.weight[k], 0});
      ++l.first;
    }
    activities_[a].end = static_cast<std::uint32_t>(uses_.size());
  }
  std::uint32_t first = 0;
  for (std::size_t l = 0; l < links_.size(); ++l) {
    TWIN_CHECK(s.capacity[l] >= 0 && s.capacity[l] <= kUncapped);
    links_[l].capacity = s.capacity[l];
    links_[l].mark = links_[l].count = 0;
    first += std::exchange(links_[l].first, first);
  }
  users_.resize(uses_.size());
  for (Activity& x : activities_) set_alone(x);
}

void Fluid::set_alone(Activity& x) {
  x.alone = kMax;
  for (std::uint32_t k = x.begin; k < x.end; ++k) {
    uses_[k].alone = quotient(spread(link_at(uses_[k].link).capacity), Int128{uses_[k].weight} * x.phi);
    x.alone = std::min(x.alone, uses_[k].alone);
  }
}

void Fluid::reset() {
  for (std::size_t a = 0; a < activities_.size(); ++a)
    if (activities_[a].active) end(static_cast<std::int32_t>(a));
  for (std::int32_t l : dirty_links_) link_at(l).dirty = false;
  dirty_links_.clear();
  dirty_activities_.clear();
}

void Fluid::start(std::int32_t activity, Time now, std::int64_t bytes, std::int64_t cap) {
  Activity& x = at(activity);
  TWIN_CHECK(!x.active && bytes >= 0 && cap >= 0 && cap <= kUncapped);
  x.active = x.fresh = true;
  x.remaining = fluid_bytes(bytes);
  x.rate = 0;
  x.cap = cap;
  x.cap_level = (cap + x.phi - 1) / x.phi;
  x.last = now;
  x.finish = Time::never();
  x.dead = 0;
  x.most = std::min(x.alone, x.cap_level);
  ++x.version;
  for (std::uint32_t k = x.begin; k < x.end; ++k) {
    Link& l = link_at(uses_[k].link);
    uses_[k].place = l.count;
    users_[l.first + l.count++] = {activity, k, uses_[k].weight};
    const Int128 demand = Int128{uses_[k].weight} * x.phi;
    l.demand += demand;
    l.bound += demand * (x.most + 2);
    x.dead += l.capacity == 0;
  }
  dirty_activities_.push_back(activity);
}

void Fluid::end(std::int32_t activity) {
  Activity& x = at(activity);
  TWIN_CHECK(x.active);
  const bool alone = ends_alone(activity);
  x.active = false;
  x.rate = 0;
  x.finish = Time::never();
  ++x.version;
  for (std::uint32_t k = x.begin; k < x.end; ++k) {
    Link& l = link_at(uses_[k].link);
    User& hole = users_[l.first + uses_[k].place];
    hole = users_[l.first + --l.count];
    uses_[hole.use].place = uses_[k].place;
    if (l.count > 0 && !alone && tight(l)) touch(uses_[k].link);
    const Int128 demand = Int128{uses_[k].weight} * x.phi;
    l.demand -= demand;
    l.bound -= demand * (x.most + 2);
  }
}

void Fluid::touch(std::int32_t link) {
  if (std::exchange(link_at(link).dirty, true)) return;
  dirty_links_.push_back(link);
}

std::int64_t Fluid::rate_alone(std::int32_t activity, std::int64_t cap) const {
  Activity x = at(activity);
  x.cap = cap;
  for (std::uint32_t k = x.begin; k < x.end; ++k)
    if (capacity(uses_[k].link) == 0) return 0;
  return rate_at(x, std::min(x.alone, (cap + x.phi - 1) / x.phi));
}

Time Fluid::time_alone(std::int32_t activity, std::int64_t bytes, std::int64_t cap) const {
  if (bytes == 0) return Time::zero();
  const std::int64_t rate = rate_alone(activity, cap);
  return rate == 0 ? Time::never() : Time::ns(quotient(fluid_bytes(bytes) + rate - 1, rate));
}

Int128 Fluid::remaining(std::int32_t activity, Time now) const {
  const Activity& x = at(activity);
  if (!x.active) return 0;
  return std::max(Int128{0}, x.remaining - Int128{x.rate} * (now - x.last).count());
}

const std::vector<std::int32_t>& Fluid::solve(Time now) {
  ++epoch_;
  changed_.clear();
  const auto seed = [&](std::int32_t a, bool local) {
    Activity& x = at(a);
    if (!x.active || x.mark == epoch_) return;
    component_activities_.assign(1, a);
    ++solves_;
    if (local && x.fresh && shares(x) && starts_alone(a)) {  // not marked: a neighbour's component may hold it
      ++touched_;
    } else {
      x.mark = epoch_;
      solve_component();
    }
    commit(now);
  };
  for (std::int32_t id : dirty_links_) {  // the users of a tight link are in one component
    const Link& l = link_at(id);
    const std::uint32_t seeds = tight(l) ? std::min(l.count, 1U) : l.count;
    for (std::uint32_t i = 0; i < seeds; ++i) seed(users_[l.first + i].activity, false);
  }
  for (std::int32_t l : dirty_links_) link_at(l).dirty = false;
  for (std::int32_t a : dirty_activities_) seed(a, true);
  dirty_activities_.clear();
  dirty_links_.clear();
  return changed_;
}

void Fluid::solve_component() {
  Activity& seed = at(component_activities_.front());
  if (!shares(seed)) {
    ++touched_;
    seed.level = std::min(seed.alone, seed.cap_level);
    seed.next_rate = seed.dead > 0 ? 0 : rate_at(seed, seed.level);
  } else {
    component_links_.clear();
    collect();
    touched_ += static_cast<std::int64_t>(component_activities_.size());
    fill();
  }
}

// Everything connected to the seed over tight links that two or more use.
void Fluid::collect() {
  shared_.clear();
  std::size_t next_link = 0, next_activity = 0;
  while (true) {
    if (next_activity < component_activities_.size()) {
      collect_links(at(component_activities_[next_activity++]));
    } else if (next_link < component_links_.size()) {
      const Link& l = link_at(component_links_[next_link++]);
      for (const User *u = &users_[l.first], *last = u + l.count; u != last; ++u) {
        if (at(u->activity).mark == epoch_) continue;
        at(u->activity).mark = epoch_;
        component_activities_.push_back(u->activity);
      }
    } else {
      return;
    }
  }
}

void Fluid::collect_links(Activity& x) {
  x.limit = x.cap_level;
  x.shared_begin = static_cast<std::uint32_t>(shared_.size());
  for (std::uint32_t k = x.begin; k < x.end; ++k) {
    Link& l = link_at(uses_[k].link);
    if (l.count == 1) {
      x.limit = std::min(x.limit, uses_[k].alone);
      continue;
    }
    if (!tight(l)) continue;
    shared_.push_back(k);
    if (l.mark == epoch_) continue;
    l.mark = epoch_;
    component_links_.push_back(uses_[k].link);
  }
  x.shared_end = static_cast<std::uint32_t>(shared_.size());
}

// Stalled activities get 0 and leave; the rest is open, the shared links in a heap by level and the limits in order.
void Fluid::open_component() {
  for (std::int32_t id : component_links_) {
    Link& l = link_at(id);
    l.left = spread(l.capacity);
    l.open = l.demand;
  }
  caps_.clear();
  for (std::int32_t id : component_activities_) {
    Activity& x = at(id);
    x.next_rate = 0;
    x.fixed = x.dead > 0 || x.cap == 0;
    if (!x.fixed)
      caps_.push_back({x.limit, id});
    else
      for (std::uint32_t i = x.shared_begin; i < x.shared_end; ++i) {
        const Use& u = uses_[shared_[i]];
        link_at(u.link).open -= Int128{u.weight} * x.phi;
      }
  }
  std::sort(caps_.begin(), caps_.end(), [](const Level& a, const Level& b) { return a.level < b.level; });
  unfixed_ = caps_.size();
  heap_.clear();
  for (std::int32_t id : component_links_) {
    const Link& l = link_at(id);
    if (l.open > 0) heap_.push_back({quotient(l.left, l.open), id});
  }
  std::make_heap(heap_.begin(), heap_.end());
}

// A link's level never falls while others are fixed at or below it, so a stored level is a lower bound: only the top of
// the heap needs a look. kMax where no link is open.
std::int64_t Fluid::lowest_level() {
  while (!heap_.empty()) {
    const Link& l = link_at(heap_.front().id);
    const std::int64_t stored = heap_.front().level;
    const std::int64_t level = l.open > 0 ? quotient(l.left, l.open) : kMax;
    if (l.open > 0 && level <= stored) return level;
    std::pop_heap(heap_.begin(), heap_.end());
    if (l.open > 0) {
      heap_.back().level = level;
      std::push_heap(heap_.begin(), heap_.end());
    } else {
      heap_.pop_back();
    }
  }
  return kMax;
}

void Fluid::fix(Activity& x, std::int64_t level) {
  x.next_rate = rate_at(x, level);
  x.level = level;
  x.fixed = true;
  --unfixed_;
  for (std::uint32_t i = x.shared_begin; i < x.shared_end; ++i) {
    const Use& u = uses_[shared_[i]];
    Link& l = link_at(u.link);
    l.left = std::max(Int128{0}, l.left - Int128{u.weight} * x.next_rate);
    l.open -= Int128{u.weight} * x.phi;
  }
}

// Limits below the lowest link are reached whatever the others do; fixing them can only raise the links.
void Fluid::fix_caps_below(std::size_t& next, std::int64_t level) {
  for (; next < caps_.size() && caps_[next].level < level; ++next)
    if (Activity& x = at(caps_[next].id); !x.fixed) fix(x, caps_[next].level);
}

void Fluid::fill() {
  open_component();
  std::size_t next_cap = 0;
  while (unfixed_ > 0) {
    const std::int64_t level = lowest_level();
    const std::size_t before = unfixed_;
    fix_caps_below(next_cap, level);
    if (unfixed_ != before) continue;
    batch_.clear();  // the links and the limits that tie at this level, before any of them is fixed
    while (lowest_level() == level) {
      batch_.push_back(heap_.front().id);
      std::pop_heap(heap_.begin(), heap_.end());
      heap_.pop_back();
    }
    for (std::int32_t id : batch_) {
      const Link& l = link_at(id);
      for (const User *u = &users_[l.first], *last = u + l.count; u != last; ++u)
        if (Activity& x = at(u->activity); !x.fixed) fix(x, level);
    }
    for (; next_cap < caps_.size() && caps_[next_cap].level == level; ++next_cap)
      if (Activity& x = at(caps_[next_cap].id); !x.fixed) fix(x, level);
  }
}

void Fluid::commit(Time now) {
  for (std::int32_t id : component_activities_) {
    Activity& x = at(id);
    if (x.next_rate == x.rate && !x.fresh) continue;
    x.remaining -= Int128{x.rate} * (now - x.last).count();
    x.last = now;
    x.rate = x.next_rate;
    x.fresh = false;
    ++x.version;
    x.finish = Time::never();
    if (x.remaining <= 0)
      x.finish = now;
    else if (x.rate > 0)
      x.finish = now + Time::ns(quotient(x.remaining + x.rate - 1, x.rate));
    changed_.push_back(id);
  }
}

}  // namespace twin::core
