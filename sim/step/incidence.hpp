// The two reverse incidences of a System that refinement and quotient need: group -> members, link -> groups. CSR,
// int32.
#pragma once
#include <cstdint>
#include <vector>
#include "sim/step/system.hpp"

namespace twin::step {

struct Incidence {
  std::vector<std::int32_t> member_start;  // CSR group -> members
  std::vector<std::int32_t> member_rank;
  std::vector<std::uint16_t> member_membership;  // kind's slot + role
  std::vector<std::int32_t> user_start;          // CSR link -> groups that load it
  std::vector<std::int32_t> user_group;
  std::vector<std::int64_t> user_weight;
};

Incidence incidence(const System& system);
std::vector<std::uint16_t> kind_of_membership(const System& system);

// True if `partition` is equitable, checked without hashes in O(edges log edges): members of a class agree in program,
// speed, kind, geometry or capacity, and in the multiset of (label, class) of their neighbours.
bool is_equitable(const System& system, const Partition& partition);

}  // namespace twin::step
