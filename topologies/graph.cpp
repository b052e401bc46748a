#include "topologies/graph.hpp"
#include <algorithm>
#include <boost/graph/dijkstra_shortest_paths.hpp>
#include <limits>

namespace twin::topo {
namespace {

// A path's length packs (forwarding end points, hops, ns): leaving a GPU or a host costs kLeave, so passing through one
// costs a second kLeave and is told apart from every legal path.
constexpr std::int64_t kHop = std::int64_t{1} << 40;
constexpr std::int64_t kLeave = std::int64_t{1} << 52;
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max() / 4;

bool ends_paths(VertexKind kind) {
  return kind == VertexKind::kGpu || kind == VertexKind::kHost || kind == VertexKind::kStorage;
}

// Notes the edge by which the shortest path enters each vertex.
struct Record : boost::base_visitor<Record> {
  using event_filter = boost::on_edge_relaxed;
  explicit Record(std::vector<std::int32_t>& edge_into) : into(&edge_into) {}
  std::vector<std::int32_t>* into;
  void operator()(LinkGraph::Csr::edge_descriptor e, const LinkGraph::Csr& g) const {
    (*into)[static_cast<std::size_t>(boost::target(e, g))] = boost::get(boost::edge_index, g, e);
  }
};

}  // namespace

const char* name(VertexKind kind) {
  static const char* const names[] = {"gpu", "nvswitch", "nic", "leaf", "spine", "core", "host", "storage"};
  return names[static_cast<std::size_t>(kind)];
}

LinkGraph make_graph(std::vector<VertexKind> kind, std::vector<std::int32_t> gpu, const std::vector<RawEdge>& edges) {
  LinkGraph g;
  std::vector<std::pair<std::int32_t, std::int32_t>> ends;
  std::vector<Edge> properties;
  auto sorted = edges;
  std::stable_sort(sorted.begin(), sorted.end(), [](const RawEdge& a, const RawEdge& b) { return a.from < b.from; });
  for (const auto& e : sorted) {
    ends.emplace_back(e.from, e.to);
    properties.push_back(e.edge);
    g.source.push_back(e.from);
  }
  g.csr = LinkGraph::Csr(boost::edges_are_sorted, ends.begin(), ends.end(), properties.begin(),
                         static_cast<std::int32_t>(kind.size()), static_cast<std::int32_t>(ends.size()));
  g.kind = std::move(kind);
  g.gpu = std::move(gpu);
  return g;
}

ShortestPaths::ShortestPaths(const LinkGraph& graph, std::int32_t source)
    : graph_(graph), source_(source), distance_(graph.kind.size(), kNever), edge_into_(graph.kind.size(), -1) {
  std::vector<std::int64_t> weight(graph.source.size());
  for (auto [e, last] = boost::edges(graph.csr); e != last; ++e) {
    const auto i = static_cast<std::size_t>(boost::get(boost::edge_index, graph.csr, *e));
    const Edge& edge = graph.csr[*e];
    const bool leaves = ends_paths(graph.kind[static_cast<std::size_t>(graph.source[i])]);
    weight[i] = edge.capacity == 0 ? kNever : kHop + edge.latency_ns + (leaves ? kLeave : 0);
  }
  const auto index = boost::get(boost::vertex_index, graph.csr);
  boost::dijkstra_shortest_paths(
      graph.csr, source,
      boost::weight_map(boost::make_iterator_property_map(weight.begin(), boost::get(boost::edge_index, graph.csr)))
          .distance_map(boost::make_iterator_property_map(distance_.begin(), index))
          .distance_inf(kNever)
          .distance_combine([](std::int64_t a, std::int64_t b) { return std::min(a + b, kNever); })
          .visitor(boost::make_dijkstra_visitor(Record(edge_into_))));
}

bool ShortestPaths::reaches(std::int32_t vertex) const {
  return distance_[static_cast<std::size_t>(vertex)] < 2 * kLeave;
}
int ShortestPaths::hops(std::int32_t vertex) const {
  return static_cast<int>(distance_[static_cast<std::size_t>(vertex)] % kLeave / kHop);
}
std::int64_t ShortestPaths::latency_ns(std::int32_t vertex) const {
  return distance_[static_cast<std::size_t>(vertex)] % kHop;
}

std::vector<core::LinkId> ShortestPaths::links(std::int32_t vertex) const {
  std::vector<core::LinkId> found;
  while (vertex != source_ && edge_into_[static_cast<std::size_t>(vertex)] >= 0) {
    const std::int32_t e = edge_into_[static_cast<std::size_t>(vertex)];
    const Edge& edge = graph_.csr[boost::edge_from_index(e, graph_.csr)];
    if (edge.link.valid()) found.push_back(edge.link);
    vertex = graph_.source[static_cast<std::size_t>(e)];
  }
  std::reverse(found.begin(), found.end());
  return found;
}

}  // namespace twin::topo
