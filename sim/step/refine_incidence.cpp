// Reverse incidences of a System, and the hash-free check of a partition (see incidence.hpp).
#include <algorithm>
#include <limits>
#include <utility>
#include "sim/core/check.hpp"
#include "sim/step/incidence.hpp"

namespace twin::step {
namespace {

using Labelled = std::pair<std::int64_t, std::int64_t>;  // (label, class of the neighbour)

// Calls differs(representative, member) for every member of every class; false as soon as one differs.
template <class Neighbours>
bool classes_agree(const std::vector<std::int32_t>& class_of, std::int32_t classes, Neighbours neighbours) {
  std::vector<std::vector<Labelled>> first(static_cast<std::size_t>(classes));
  std::vector<std::uint8_t> seen(static_cast<std::size_t>(classes), 0);
  std::vector<Labelled> mine;
  for (std::size_t i = 0; i < class_of.size(); ++i) {
    if (class_of[i] < 0 || class_of[i] >= classes) return false;
    const auto c = static_cast<std::size_t>(class_of[i]);
    mine.clear();
    neighbours(i, mine);
    std::sort(mine.begin(), mine.end());
    if (!seen[c]) {
      seen[c] = 1;
      first[c] = mine;
    } else if (first[c] != mine) {
      return false;
    }
  }
  return true;
}

std::vector<std::int32_t> canonical_geometry(const System& s) {
  std::vector<std::int32_t> canonical(s.geometries.size());
  for (std::size_t i = 0; i < canonical.size(); ++i) {
    std::size_t j = 0;
    while (j < i && !(s.geometries[j] == s.geometries[i])) ++j;
    canonical[i] = static_cast<std::int32_t>(j);
  }
  return canonical;
}

}  // namespace

std::vector<std::uint16_t> kind_of_membership(const System& s) {
  std::vector<std::uint16_t> kind(static_cast<std::size_t>(s.memberships), 0);
  for (std::size_t k = 0; k < s.kinds.size(); ++k)
    for (int role = 0; role < (s.kinds[k].p2p ? 2 : 1); ++role)
      kind[static_cast<std::size_t>(s.membership_of_kind[k] + role)] = static_cast<std::uint16_t>(k);
  return kind;
}

Incidence incidence(const System& s) {
  constexpr std::size_t kMost = std::numeric_limits<std::int32_t>::max();
  TWIN_CHECK(s.group_of.size() < kMost && s.load_link.size() < kMost);
  Incidence x;
  const auto memberships = static_cast<std::size_t>(s.memberships);
  x.member_start.assign(s.groups() + 1, 0);
  for (const auto g : s.group_of)
    if (g >= 0) ++x.member_start[static_cast<std::size_t>(g) + 1];
  for (std::size_t g = 0; g < s.groups(); ++g) x.member_start[g + 1] += x.member_start[g];
  x.member_rank.resize(static_cast<std::size_t>(x.member_start.back()));
  x.member_membership.resize(x.member_rank.size());
  auto fill = x.member_start;
  for (std::size_t r = 0; r < s.ranks(); ++r)
    for (std::size_t m = 0; m < memberships; ++m) {
      const auto g = s.group_of[r * memberships + m];
      if (g < 0) continue;
      const auto at = static_cast<std::size_t>(fill[static_cast<std::size_t>(g)]++);
      x.member_rank[at] = static_cast<std::int32_t>(r);
      x.member_membership[at] = static_cast<std::uint16_t>(m);
    }
  x.user_start.assign(s.links() + 1, 0);
  for (const auto l : s.load_link) ++x.user_start[static_cast<std::size_t>(l) + 1];
  for (std::size_t l = 0; l < s.links(); ++l) x.user_start[l + 1] += x.user_start[l];
  x.user_group.resize(s.load_link.size());
  x.user_weight.resize(s.load_link.size());
  fill = x.user_start;
  for (std::size_t g = 0; g < s.groups(); ++g)
    for (auto i = s.load_start[g]; i < s.load_start[g + 1]; ++i) {
      const auto load = static_cast<std::size_t>(i);
      const auto at = static_cast<std::size_t>(fill[static_cast<std::size_t>(s.load_link[load])]++);
      x.user_group[at] = static_cast<std::int32_t>(g);
      x.user_weight[at] = s.load_weight[load];
    }
  return x;
}

bool is_equitable(const System& s, const Partition& p) {
  if (p.rank_class.size() != s.ranks() || p.group_class.size() != s.groups() || p.link_class.size() != s.links())
    return false;
  const auto x = incidence(s);
  const auto geometry = canonical_geometry(s);
  const auto memberships = static_cast<std::size_t>(s.memberships);
  const auto index = [](std::int32_t i) { return static_cast<std::size_t>(i); };
  const bool ranks = classes_agree(p.rank_class, p.rank_classes, [&](std::size_t r, std::vector<Labelled>& out) {
    out.push_back({-1, s.program[r]});
    out.push_back({-2, s.speed[r]});
    for (std::size_t m = 0; m < memberships; ++m)
      if (const auto g = s.group_of[r * memberships + m]; g >= 0)
        out.push_back({static_cast<std::int64_t>(m), p.group_class[index(g)]});
  });
  const bool groups = classes_agree(p.group_class, p.group_classes, [&](std::size_t g, std::vector<Labelled>& out) {
    out.push_back({-1, s.group_kind[g]});
    out.push_back({-2, geometry[index(s.group_geometry[g])]});
    for (auto i = index(x.member_start[g]); i < index(x.member_start[g + 1]); ++i)
      out.push_back({-3 - x.member_membership[i], p.rank_class[index(x.member_rank[i])]});
    for (auto i = s.load_start[g]; i < s.load_start[g + 1]; ++i) {
      const auto load = static_cast<std::size_t>(i);
      out.push_back({s.load_weight[load], p.link_class[index(s.load_link[load])]});
    }
  });
  const bool links = classes_agree(p.link_class, p.link_classes, [&](std::size_t l, std::vector<Labelled>& out) {
    out.push_back({-1, s.capacity[l]});
    for (auto i = index(x.user_start[l]); i < index(x.user_start[l + 1]); ++i)
      out.push_back({x.user_weight[i], p.group_class[index(x.user_group[i])]});
  });
  return ranks && groups && links;
}

}  // namespace twin::step
