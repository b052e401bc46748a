// The links of a cluster as a Boost.Graph compressed sparse row graph: directed edges with capacity and latency.
// Edges inside a node that are no links of the View (NIC or host to device over PCIe) have link -1 and never bind.
// A GPU and a host end paths; they never forward.
#pragma once
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <string>
#include <vector>
#include "sim/core/ids.hpp"
#include "sim/core/time.hpp"

namespace twin::topo {

enum class VertexKind : std::uint8_t { kGpu, kNvswitch, kNic, kLeaf, kSpine, kCore, kHost, kStorage };
const char* name(VertexKind kind);

struct Edge {
  core::LinkId link;          // none: internal
  std::int64_t capacity = 0;  // 2^-32 byte/ns; 0 = down (internal edges: unlimited)
  std::int64_t latency_ns = 0;
};

struct LinkGraph {
  using Csr = boost::compressed_sparse_row_graph<boost::directedS, boost::no_property, Edge, boost::no_property,
                                                 std::int32_t, std::int32_t>;
  Csr csr;
  std::vector<VertexKind> kind;      // by vertex
  std::vector<std::int32_t> gpu;     // device -> vertex
  std::vector<std::int32_t> source;  // edge index -> its tail
};

struct RawEdge {
  std::int32_t from, to;
  Edge edge;
};
LinkGraph make_graph(std::vector<VertexKind> kind, std::vector<std::int32_t> gpu, const std::vector<RawEdge>& edges);

// Fewest hops (ties: least latency) from a GPU to every vertex over edges that are up; link ids along the way of one.
class ShortestPaths {
 public:
  ShortestPaths(const LinkGraph& graph, std::int32_t source);
  bool reaches(std::int32_t vertex) const;
  int hops(std::int32_t vertex) const;
  std::int64_t latency_ns(std::int32_t vertex) const;
  std::vector<core::LinkId> links(std::int32_t vertex) const;  // without internal edges

 private:
  const LinkGraph& graph_;
  std::int32_t source_;
  std::vector<std::int64_t> distance_;
  std::vector<std::int32_t> edge_into_;
};

}  // namespace twin::topo
