// Initial colours and label hashes shared by the two refinements. Only integers are hashed.
#pragma once
#include <cstdint>
#include <vector>
#include "sim/step/incidence.hpp"

namespace twin::step {

inline std::uint64_t mix(std::uint64_t x) {  // splitmix64's finaliser
  x += 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}
inline std::uint64_t mix(std::uint64_t a, std::uint64_t b) { return mix(a * 0x9E3779B97F4A7C15ull ^ mix(b)); }

inline std::uint64_t weight_label(std::int64_t weight) { return mix(3, static_cast<std::uint64_t>(weight)); }

// Label of each membership: its own with roles, its kind's without.
inline std::vector<std::uint64_t> membership_labels(const System& s, bool use_roles) {
  const auto kind = kind_of_membership(s);
  std::vector<std::uint64_t> labels(kind.size());
  for (std::size_t m = 0; m < labels.size(); ++m) labels[m] = mix(5, use_roles ? m : std::uint64_t{kind[m]});
  return labels;
}

// Colours of ranks, then groups, then links.
inline std::vector<std::uint64_t> initial_colours(const System& s) {
  const auto u = [](auto v) { return static_cast<std::uint64_t>(v); };
  std::vector<std::uint64_t> geometry;
  for (const auto& g : s.geometries) {
    auto h = mix(u(g.ranks), u(g.domains));
    h = mix(mix(h, u(g.max_per_domain)), u(g.min_per_domain));
    geometry.push_back(mix(mix(h, u(g.reach)), u(g.scale)));
  }
  std::vector<std::uint64_t> colour;
  colour.reserve(s.ranks() + s.groups() + s.links());
  for (std::size_t r = 0; r < s.ranks(); ++r) colour.push_back(mix(mix(11, u(s.program[r])), u(s.speed[r])));
  for (std::size_t g = 0; g < s.groups(); ++g) {
    const auto& kind = s.kinds[u(s.group_kind[g])];
    colour.push_back(mix(mix(mix(12, u(s.group_kind[g])), geometry[u(s.group_geometry[g])]), u(kind.phi)));
  }
  for (std::size_t l = 0; l < s.links(); ++l) colour.push_back(mix(13, u(s.capacity[l])));
  return colour;
}

}  // namespace twin::step
