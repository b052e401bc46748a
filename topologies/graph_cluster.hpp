// A cluster from a user's arbitrary graph (JSON: vertices and edges), with shortest paths instead of computed routes.
#pragma once
#include "topologies/cluster.hpp"
#include "topologies/request.hpp"

namespace twin::topo {

core::Result<std::unique_ptr<Cluster>> build_graph_cluster(const Request& request,
                                                           const std::vector<LinkFault>& faults);

}  // namespace twin::topo
