#include "topologies/graph_cluster.hpp"

namespace twin::topo {

core::Result<std::unique_ptr<Cluster>> build_graph_cluster(const Request& request, const std::vector<LinkFault>&) {
  return core::Error{core::ErrorCode::kUnsupported, request.where + ".graph",
                     "a cluster from a graph file is not yet built", ""};
}

}  // namespace twin::topo
