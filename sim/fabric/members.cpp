#include "sim/fabric/members.hpp"
#include <algorithm>
#include <numeric>
#include "sim/core/check.hpp"

namespace twin::fabric {
namespace {

__extension__ typedef __int128 i128;

// In a switched domain a route's first link belongs to the sender alone. In a mesh each pair has links of its own, and
// NCCL's rings together use all of them.
bool is_mesh(const View& view, const std::vector<core::DeviceId>& domain) {
  if (domain.size() < 3) return false;
  std::vector<LinkLoad> a, b;
  if (!view.route(domain[0], domain[1], kFine, a) || !view.route(domain[0], domain[2], kFine, b)) return false;
  for (const auto& x : a)
    for (const auto& y : b)
      if (x.link == y.link) return false;
  return !a.empty() && !b.empty();
}

}  // namespace

Members group_by_domain(const View& view, std::span<const core::DeviceId> members) {
  Members m;
  m.ranks = static_cast<int>(members.size());
  std::vector<std::pair<int, std::size_t>> index;  // domain -> position, sorted by domain
  int last = -1;
  std::size_t at = 0;
  for (const core::DeviceId d : members) {
    const int domain = view.scaleup_domain_of(d);
    if (domain != last || m.domains.empty()) {
      const auto it = std::lower_bound(index.begin(), index.end(), std::pair<int, std::size_t>{domain, 0});
      if (it != index.end() && it->first == domain) {
        at = it->second;
      } else {
        at = m.domains.size();
        index.insert(it, {domain, at});
        m.domains.emplace_back();
      }
      last = domain;
    }
    m.domains[at].push_back(d);
  }
  return m;
}

namespace {

// "nic:node0/3:tx is down": links that a fault took away, at most three of them.
std::string down_links(const View& view) {
  std::string names;
  int found = 0;
  for (std::int32_t l = 0; l < view.links(); ++l) {
    if (view.capacity(core::LinkId{l}) > 0) continue;
    if (++found <= 3) names += (names.empty() ? "" : ", ") + view.link_name(core::LinkId{l});
  }
  if (found > 3) names += " and " + std::to_string(found - 3) + " more";
  return found == 0 ? "a link on every path is down" : "down: " + names;
}

}  // namespace

void Loads::add(core::DeviceId a, core::DeviceId b, std::int64_t units) {
  if (a == b || units <= 0 || !error_.empty()) return;
  if (!view_.route(a, b, units, raw_))
    error_ = "no path from device " + std::to_string(a.value) + " (node " + std::to_string(view_.node_of(a).value) +
             ") to device " + std::to_string(b.value) + " (node " + std::to_string(view_.node_of(b).value) + ")";
  if (!dense_.empty() && raw_.size() > 4096) flush();
}

void Loads::flush() {
  for (const LinkLoad& l : raw_) dense_[l.link.index()] += l.units;
  raw_.clear();
}

core::Result<Pattern> Loads::finish(const Members& members) {
  if (!error_.empty()) return core::Error{core::ErrorCode::kInconsistent, "fabric", error_, down_links(view_)};
  std::vector<LinkLoad> merged;
  if (!dense_.empty()) {
    flush();
    for (std::size_t i = 0; i < dense_.size(); ++i)
      if (dense_[i] > 0) merged.push_back({core::LinkId{static_cast<std::int32_t>(i)}, dense_[i]});
  } else {
    std::sort(raw_.begin(), raw_.end(), [](const LinkLoad& a, const LinkLoad& b) { return a.link < b.link; });
    for (const LinkLoad& l : raw_) {
      if (!merged.empty() && merged.back().link == l.link)
        merged.back().units += l.units;
      else
        merged.push_back(l);
    }
  }
  std::int64_t max = 0;
  for (const LinkLoad& l : merged) max = std::max(max, l.units);
  for (LinkLoad& l : merged) l.units = static_cast<std::int64_t>((static_cast<i128>(l.units) * kUnit + max / 2) / max);
  std::erase_if(merged, [](const LinkLoad& l) { return l.units == 0; });
  Pattern p;
  p.geometry.ranks = members.ranks;
  p.geometry.domains = static_cast<std::int32_t>(members.domains.size());
  if (!members.domains.empty()) {
    const auto [lo, hi] = std::minmax_element(members.domains.begin(), members.domains.end(),
                                              [](const auto& a, const auto& b) { return a.size() < b.size(); });
    p.geometry.min_per_domain = static_cast<std::int32_t>(lo->size());
    p.geometry.max_per_domain = static_cast<std::int32_t>(hi->size());
  }
  p.geometry.reach = reach_;
  p.geometry.scale = merged.empty() ? kUnit : (max + (kFine / kUnit) / 2) / (kFine / kUnit);
  p.loads = std::move(merged);
  return p;
}

void add_inside(const View& view, const std::vector<core::DeviceId>& domain, std::int64_t units, Loads& loads) {
  const std::size_t k = domain.size();
  if (k < 2) return;
  if (!is_mesh(view, domain)) {
    for (std::size_t j = 0; j < k; ++j) loads.add(domain[j], domain[(j + 1) % k], units);
    return;
  }
  const auto share = units / static_cast<std::int64_t>(k - 1);
  for (std::size_t a = 0; a < k; ++a)
    for (std::size_t b = 0; b < k; ++b)
      if (a != b) loads.add(domain[a], domain[b], share);
}

void add_between(const std::vector<core::DeviceId>& a, const std::vector<core::DeviceId>& b, std::int64_t units,
                 Loads& loads) {
  std::size_t flows = std::lcm(a.size(), b.size());
  if (flows > 256) flows = std::max(a.size(), b.size());
  const auto share = units / static_cast<std::int64_t>(flows);
  for (std::size_t c = 0; c < flows; ++c) loads.add(a[c % a.size()], b[c % b.size()], share);
}

}  // namespace twin::fabric
