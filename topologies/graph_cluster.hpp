// A cluster from a user's arbitrary graph, with shortest paths (fewest hops, then least latency) as routes:
//   {"graph": {"accelerator": "h100-sxm",
//              "vertices": [{"id": "g0", "kind": "gpu", "node": 0}, {"id": "sw", "kind": "leaf"}],
//              "edges": [{"from": "g0", "to": "sw", "gbit_per_s": 400, "latency_us": 1.5}]}}
// An edge stands for both directions unless "one_way" is true. GPUs are numbered in the order of the file and listed
// node by node; "domain" (default: the node) says who shares a scale-up domain. Faults: "edge:FROM/TO", "*" for any
// end. Range: some thousand vertices; one message takes one path. Nothing is stored for all pairs: a tree per source is
// kept only until another source is asked for.
#pragma once
#include "topologies/cluster.hpp"
#include "topologies/request.hpp"

namespace twin::topo {

core::Result<std::unique_ptr<Cluster>> build_graph_cluster(const Request& request,
                                                           const std::vector<LinkFault>& faults);

}  // namespace twin::topo
