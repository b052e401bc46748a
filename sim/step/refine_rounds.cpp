// Colour refinement by whole-graph hash rounds until the number of colours stays: the oracle for refine().
#include <algorithm>
#include <unordered_map>
#include "sim/step/refine_colour.hpp"

namespace twin::step {
namespace {

using Colours = std::vector<std::uint64_t>;

std::size_t distinct(Colours colours) {
  std::sort(colours.begin(), colours.end());
  return static_cast<std::size_t>(std::unique(colours.begin(), colours.end()) - colours.begin());
}

std::int32_t number(const std::uint64_t* colours, std::size_t count, std::vector<std::int32_t>& out) {
  std::unordered_map<std::uint64_t, std::int32_t> ids;
  out.resize(count);
  for (std::size_t i = 0; i < count; ++i)
    out[i] = ids.emplace(colours[i], static_cast<std::int32_t>(ids.size())).first->second;
  return static_cast<std::int32_t>(ids.size());
}

}  // namespace

Partition refine_rounds(const System& s, const RefineOptions& options) {
  const auto x = incidence(s);
  const auto labels = membership_labels(s, options.use_roles);
  const auto index = [](auto i) { return static_cast<std::size_t>(i); };
  const auto memberships = index(s.memberships);
  const auto first_group = s.ranks(), first_link = s.ranks() + s.groups();
  auto colour = initial_colours(s);
  auto next = colour;  // where links are not refined, both keep their capacity's colour
  for (std::size_t before = 0, now = distinct(colour); now != before; before = now, now = distinct(colour)) {
    for (std::size_t r = 0; r < s.ranks(); ++r) {
      std::uint64_t sum = 0;
      for (std::size_t m = 0; m < memberships; ++m)
        if (const auto g = s.group_of[r * memberships + m]; g >= 0)
          sum += mix(colour[first_group + index(g)], labels[m]);
      next[r] = mix(colour[r], sum);
    }
    for (std::size_t g = 0; g < s.groups(); ++g) {
      std::uint64_t sum = 0;
      for (auto i = index(x.member_start[g]); i < index(x.member_start[g + 1]); ++i)
        sum += mix(colour[index(x.member_rank[i])], labels[x.member_membership[i]]);
      if (options.use_links)
        for (auto i = index(s.load_start[g]); i < index(s.load_start[g + 1]); ++i)
          sum += mix(colour[first_link + index(s.load_link[i])], weight_label(s.load_weight[i]));
      next[first_group + g] = mix(colour[first_group + g], sum);
    }
    for (std::size_t l = 0; l < s.links() && options.use_links && options.refine_links; ++l) {
      std::uint64_t sum = 0;
      for (auto i = index(x.user_start[l]); i < index(x.user_start[l + 1]); ++i)
        sum += mix(colour[first_group + index(x.user_group[i])], weight_label(x.user_weight[i]));
      next[first_link + l] = mix(colour[first_link + l], sum);
    }
    colour.swap(next);
  }
  Partition p;
  p.rank_classes = number(colour.data(), s.ranks(), p.rank_class);
  p.group_classes = number(colour.data() + first_group, s.groups(), p.group_class);
  p.link_classes = number(colour.data() + first_link, s.links(), p.link_class);
  return p;
}

}  // namespace twin::step
