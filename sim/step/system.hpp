// What the executor runs: ranks (or classes of ranks) with programs, communicators (or classes of them) with link
// weights, links (or classes of links) with capacities. The same structure holds the explicit N-rank system and its
// quotient. folding.md holds the theory; all numbers are integers, so both give the same bits.
#pragma once
#include <cstdint>
#include <string>
#include <vector>
#include "sim/fabric/collective.hpp"
#include "sim/step/program.hpp"

namespace twin::step {

// A communicator kind: one process-group family of the plan under one pattern ("tp", "dp/tree", "pp-fwd send").
// A rank belongs to at most one group per kind and role. P2P kinds have two roles, 0 sends and 1 receives: two slots of
// membership.
struct CommKind {
  std::string name;
  fabric::Algorithm algorithm = fabric::Algorithm::kRing;
  bool p2p = false;
  std::int64_t phi = 1;  // weight of one group in the max-min filling (channels)
};

// Cost of one comm template on one geometry; computed by the System's owner once per (template, geometry).
struct Slot {              // who must arrive before a group's next instance starts
  std::int32_t rank = -1;  // rank class
  std::uint8_t role = 0;
  std::int32_t count = 1;  // members that the slot stands for (jitter order statistics)
};

struct System {
  // Ranks or rank classes.
  std::vector<std::int32_t> program;  // per rank, index into programs
  std::vector<std::int32_t> speed;    // per rank, compute time multiplier, 2^20 = nominal (1.3x slower = 1.3 * 2^20)
  std::vector<std::int32_t>
      group_of;                  // [rank * memberships + membership]; membership = kind's slot, see below; -1: none
  std::int32_t memberships = 0;  // sum over kinds of roles (p2p 2, else 1)
  std::vector<std::int64_t> population;  // ranks that a class stands for (explicit: all 1)
  // Kinds.
  std::vector<CommKind> kinds;
  std::vector<std::int32_t> membership_of_kind;  // first membership index of a kind; role is added
  // Groups or group classes.
  std::vector<std::int32_t> group_kind;
  std::vector<std::int32_t> group_geometry;  // index into geometries
  std::vector<std::int64_t> load_start;      // CSR group -> (link, weight)
  std::vector<std::int32_t> load_link;
  std::vector<std::int64_t>
      load_weight;                       // explicit: of the group; quotient: summed over the class's groups on one link
  std::vector<std::int64_t> slot_start;  // CSR group -> slots
  std::vector<Slot> slots;
  std::vector<fabric::Geometry> geometries;
  // Links or link classes.
  std::vector<std::int64_t> capacity;  // 2^-32 byte/ns
  // Shared.
  const std::vector<Program>* programs = nullptr;
  std::size_t ranks() const { return program.size(); }
  std::size_t groups() const { return group_kind.size(); }
  std::size_t links() const { return capacity.size(); }
};

// Classes of the explicit system's ranks, groups and links (each numbered from 0 in order of first member).
struct Partition {
  std::vector<std::int32_t> rank_class, group_class, link_class;
  std::int32_t rank_classes = 0, group_classes = 0, link_classes = 0;
};

// Coarsest equitable partition by worklist refinement (Paige-Tarjan / Valmari). Colours hash integers only.
struct RefineOptions {       // ablations for tests: each false makes the fold wrong
  bool use_links = true;     // links take part in the refinement
  bool use_roles = true;     // membership roles label edges
  bool refine_links = true;  // links are split by the groups that cross them (false: by capacity alone)
};
Partition refine(const System& explicit_system, const RefineOptions& options = {});
// Whole-graph hash rounds: slow, simple, the oracle for refine() in tests.
Partition refine_rounds(const System& explicit_system, const RefineOptions& options = {});
System quotient(const System& explicit_system, const Partition& partition);

}  // namespace twin::step
