// From plan and cluster to the explicit System: ranks, communicators of each kind with their link weights, links.
// Programs are numbered by pipeline stage. Placement: rank i on device i.
#pragma once
#include <string>
#include <vector>
#include "sim/core/result.hpp"
#include "sim/step/plan.hpp"
#include "sim/step/system.hpp"
#include "topologies/cluster.hpp"

namespace twin::step {

// Indices into System::kinds; -1 where the plan has no such communicator.
struct Kinds {
  int tp = -1;
  int data = -1;       // ranks that hold the same parameters, or the shard group of a hybrid plan
  int replica = -1;    // across shard groups (hybrid)
  int forward = -1;    // p2p to the next stage
  int backward = -1;   // p2p to the previous stage
  int embedding = -1;  // first and last stage (tied embeddings)
  int world = -1;      // all ranks: control messages (norms, found-inf); loads no link
};

struct Structure {
  System system;  // explicit: one entry per rank
  Kinds kinds;
};

struct StructureOptions {
  bool tied_embeddings = false;
};

core::Result<Structure> build_structure(const Plan& plan, const topo::Cluster& cluster,
                                        const std::vector<work::Fault>& faults, const StructureOptions& options);

}  // namespace twin::step
