// Quotient of an explicit System by an equitable partition: one representative (the first member) per class.
// A group class keeps one group's phi and slots, but the weights that *all* its groups put on one link of each link
// class.
#include <algorithm>
#include <utility>
#include "sim/step/incidence.hpp"

namespace twin::step {
namespace {

constexpr std::size_t index(std::int32_t i) { return static_cast<std::size_t>(i); }

std::vector<std::size_t> first_members(const std::vector<std::int32_t>& class_of, std::int32_t classes) {
  std::vector<std::size_t> first(index(classes));
  for (std::size_t i = class_of.size(); i-- > 0;) first[index(class_of[i])] = i;
  return first;
}

void fold_ranks(const System& s, const Partition& p, System& q) {
  const auto memberships = index(s.memberships);
  for (const auto r : first_members(p.rank_class, p.rank_classes)) {
    q.program.push_back(s.program[r]);
    q.speed.push_back(s.speed[r]);
    for (std::size_t m = 0; m < memberships; ++m) {
      const auto g = s.group_of[r * memberships + m];
      q.group_of.push_back(g < 0 ? -1 : p.group_class[index(g)]);
    }
  }
  q.population.assign(index(p.rank_classes), 0);
  for (std::size_t r = 0; r < s.ranks(); ++r)
    q.population[index(p.rank_class[r])] += s.population.empty() ? 1 : s.population[r];
}

void fold_links(const System& s, const Partition& p, const Incidence& x, System& q) {
  struct Entry {
    std::int32_t group, link;
    std::int64_t weight;
  };
  std::vector<Entry> entries;
  std::vector<std::pair<std::int32_t, std::int64_t>> users;  // group class, weight
  const auto first = first_members(p.link_class, p.link_classes);
  for (std::size_t c = 0; c < first.size(); ++c) {
    const auto l = first[c];
    q.capacity.push_back(s.capacity[l]);
    users.clear();
    for (auto i = index(x.user_start[l]); i < index(x.user_start[l + 1]); ++i)
      users.push_back({p.group_class[index(x.user_group[i])], x.user_weight[i]});
    std::sort(users.begin(), users.end());
    for (std::size_t i = 0, j = 0; i < users.size(); i = j) {
      Entry e{users[i].first, static_cast<std::int32_t>(c), 0};
      for (; j < users.size() && users[j].first == e.group; ++j) e.weight += users[j].second;
      entries.push_back(e);
    }
  }
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.group < b.group; });
  q.load_start.assign(index(p.group_classes) + 1, 0);
  for (const auto& e : entries) {
    ++q.load_start[index(e.group) + 1];
    q.load_link.push_back(e.link);
    q.load_weight.push_back(e.weight);
  }
  for (std::size_t g = 0; g + 1 < q.load_start.size(); ++g) q.load_start[g + 1] += q.load_start[g];
}

void fold_groups(const System& s, const Partition& p, const Incidence& x, System& q) {
  std::vector<std::pair<std::int32_t, std::uint8_t>> members;
  q.slot_start.push_back(0);
  for (const auto g : first_members(p.group_class, p.group_classes)) {
    q.group_kind.push_back(s.group_kind[g]);
    q.group_geometry.push_back(s.group_geometry[g]);
    members.clear();
    const auto base = s.membership_of_kind[index(s.group_kind[g])];
    for (auto i = index(x.member_start[g]); i < index(x.member_start[g + 1]); ++i)
      members.push_back(
          {p.rank_class[index(x.member_rank[i])], static_cast<std::uint8_t>(x.member_membership[i] - base)});
    std::sort(members.begin(), members.end());
    for (std::size_t i = 0, j = 0; i < members.size(); i = j) {
      while (j < members.size() && members[j] == members[i]) ++j;
      q.slots.push_back(
          {.rank = members[i].first, .role = members[i].second, .count = static_cast<std::int32_t>(j - i)});
    }
    q.slot_start.push_back(static_cast<std::int64_t>(q.slots.size()));
  }
}

}  // namespace

System quotient(const System& s, const Partition& p) {
  System q;
  q.memberships = s.memberships;
  q.kinds = s.kinds;
  q.membership_of_kind = s.membership_of_kind;
  q.geometries = s.geometries;
  q.programs = s.programs;
  const auto x = incidence(s);
  fold_ranks(s, p, q);
  fold_groups(s, p, x, q);
  fold_links(s, p, x, q);
  return q;
}

}  // namespace twin::step
