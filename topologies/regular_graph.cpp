// A regular cluster spelt out as a graph, for shortest paths, other engines and tests.
#include <algorithm>
#include "topologies/graph.hpp"
#include "topologies/regular.hpp"

namespace twin::topo {
namespace {

constexpr std::int64_t kUnlimited = std::int64_t{1} << 62;

struct Numbers {  // first vertex of each kind
  int gpu = 0, nvswitch, nic, leaf, spine, core, host, total;
};

}  // namespace

// Edge latencies add up to latency(reach): half the NIC latency and a cable at each end, a switch at the edge that
// leaves it.
std::shared_ptr<const LinkGraph> Regular::graph() const {
  Numbers v{};
  v.nvswitch = at_.devices;
  v.nic = v.nvswitch + at_.domains;
  v.leaf = v.nic + at_.nics;
  v.spine = v.leaf + at_.leaves;
  const int per_pod = at_.spines, cores = at_.cores > 0 ? at_.spines * at_.cores : 0;
  v.core = v.spine + at_.pods * per_pod;
  v.host = v.core + cores;
  v.total = v.host + at_.nodes;
  std::vector<VertexKind> kind(static_cast<std::size_t>(v.total), VertexKind::kGpu);
  const auto paint = [&](int first, int last, VertexKind k) {
    std::fill(kind.begin() + first, kind.begin() + last, k);
  };
  paint(v.nvswitch, v.nic, VertexKind::kNvswitch);
  paint(v.nic, v.leaf, VertexKind::kNic);
  paint(v.leaf, v.spine, VertexKind::kLeaf);
  paint(v.spine, v.core, VertexKind::kSpine);
  paint(v.core, v.host, VertexKind::kCore);
  paint(v.host, v.total, VertexKind::kHost);

  std::vector<RawEdge> edges;
  const auto link = [&](int from, int to, int id, std::int64_t ns) {
    edges.push_back({from, to, {core::LinkId{id}, capacity_[static_cast<std::size_t>(id)], ns}});
  };
  const auto inside = [&](int a, int b, std::int64_t ns) {
    edges.push_back({a, b, {core::LinkId{}, kUnlimited, ns}});
    edges.push_back({b, a, {core::LinkId{}, kUnlimited, ns}});
  };
  const auto of = [&](fabric::Reach r) { return latency(r).count(); };
  const std::int64_t scaleup = of(fabric::Reach::kScaleUp), leaf = of(fabric::Reach::kLeaf);
  const std::int64_t trunk = of(fabric::Reach::kPod) - leaf, core = of(fabric::Reach::kCore) - of(fabric::Reach::kPod);
  double nic_s = 0;
  for (const auto& g : groups_) nic_s = std::max(nic_s, g.kind.nic_latency_s);
  const std::int64_t nic_half = std::min(core::Time::from_seconds(nic_s).count() / 2, leaf / 2),
                     edge = leaf - 2 * nic_half;
  for (const auto& g : groups_) {
    for (int i = 0; i < g.nodes * g.kind.per_node; ++i) {
      const int d = g.first_device + i;
      const int domain = scaleup_domain_of({d}), nic = nic_of(d);
      link(d, v.nvswitch + domain, at_.egress + d, scaleup / 2);
      link(v.nvswitch + domain, d, at_.ingress + d, scaleup - scaleup / 2);
      if (nic >= 0) inside(d, v.nic + nic, nic_half);
      inside(d, v.host + node_of({d}).value, 0);
    }
    for (int n = g.first_nic; n < g.first_nic + g.nodes * g.bundles; ++n) {
      const int to = v.leaf + leaf_of_nic(g, n);
      link(v.nic + n, to, at_.tx + n, edge / 2);
      link(to, v.nic + n, at_.rx + n, edge - edge / 2);
    }
  }
  for (int l = 0; l < at_.leaves; ++l)
    for (int s = 0; s < at_.spines; ++s) {
      const int spine = v.spine + pod_of_leaf(l) * per_pod + s;
      link(v.leaf + l, spine, at_.up + l * at_.spines + s, trunk / 2);
      link(spine, v.leaf + l, at_.down + l * at_.spines + s, trunk - trunk / 2);
    }
  for (int i = 0; at_.cores > 0 && i < at_.pods * at_.spines * at_.cores; ++i) {
    const int agg = i / at_.cores, to = v.core + (agg % at_.spines) * at_.cores + i % at_.cores;
    link(v.spine + agg, to, at_.agg_up + i, core / 2);
    link(to, v.spine + agg, at_.agg_down + i, core - core / 2);
  }
  std::vector<std::int32_t> gpu(static_cast<std::size_t>(at_.devices));
  for (int d = 0; d < at_.devices; ++d) gpu[static_cast<std::size_t>(d)] = d;
  return std::make_shared<const LinkGraph>(make_graph(std::move(kind), std::move(gpu), edges));
}

}  // namespace twin::topo
