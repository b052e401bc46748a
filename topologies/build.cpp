// build_cluster: request -> parts with overrides -> links.
#include <fmt/format.h>
#include "sim/core/json_reader.hpp"
#include "topologies/cluster.hpp"
#include "topologies/graph_cluster.hpp"
#include "topologies/overrides.hpp"
#include "topologies/regular.hpp"
#include "topologies/request.hpp"

namespace twin::topo {
namespace {

using core::Error;
using core::ErrorCode;
using core::Result;

// Constants of the fabric belong to the cluster, not to one of its groups.
bool of_fabric(const std::string& name) {
  for (const char* prefix : {"leaf.", "spine.", "agg.", "pod.", "switch.", "fabric."})
    if (name.starts_with(prefix)) return true;
  return false;
}

std::string cluster_name(const std::vector<Group>& groups) {
  std::string text;
  for (const auto& g : groups) {
    const int unit = g.kind.unit_nodes;
    if (!text.empty()) text += "+";
    text += g.nodes % unit == 0 ? fmt::format("{}x{}", g.kind.name, g.nodes / unit)
                                : fmt::format("{}x{}/{}", g.kind.name, g.nodes, unit);
  }
  return text;
}

Result<Fabric> choose_fabric(const Request& q, const NodeKind& first, std::vector<std::string>& assumed) {
  nlohmann::json reference = q.fabric;
  std::string where = q.where + ".fabric";
  if (reference.is_null()) {
    reference = first.fabric.is_null() ? nlohmann::json("rail-optimized") : first.fabric;
    where = first.name + ".fabric";
  }
  auto fabric = read_fabric(reference, where);
  if (!fabric) return fabric;
  if (q.fabric.is_null()) assumed.push_back("fabric " + fabric->name + ", the usual one of " + first.name);
  if (q.ecmp) fabric->ecmp = *q.ecmp;
  if (q.sharp) fabric->sharp = *q.sharp;
  if (q.keep_unbindable) fabric->keep_unbindable = *q.keep_unbindable;
  return fabric;
}

Result<Group> read_group(const GroupRequest& g, const Request& q, const NodeKind& kind, Fabric& fabric) {
  Group group;
  group.kind = kind;
  if (auto done = apply_overrides(q.overrides, q.where + ".override", group.kind, fabric); !done) return done.error();
  for (const auto& [name, value] : g.overrides)
    if (of_fabric(name))
      return Error{ErrorCode::kInconsistent, g.where + ".override." + name,
                   "a constant of the fabric holds for the whole cluster, found it in a group",
                   "move it to " + q.where + ".override"};
  Fabric untouched = fabric;
  if (auto done = apply_overrides(g.overrides, g.where + ".override", group.kind, untouched); !done)
    return done.error();
  const std::int64_t nodes = g.nodes * (g.units ? kind.unit_nodes : 1);
  if (nodes > 200000)
    return Error{ErrorCode::kRange, g.where, fmt::format("expected 1..200000 nodes, found {}", nodes), ""};
  group.nodes = static_cast<int>(nodes);
  return group;
}

}  // namespace

Result<std::unique_ptr<Cluster>> build_cluster(const ClusterRef& ref, const std::vector<LinkFault>& faults) {
  auto q = read_request(ref);
  if (!q) return q.error();
  if (!q->graph.is_null()) return build_graph_cluster(*q, faults);
  std::vector<NodeKind> kinds;
  for (const auto& g : q->groups) {
    auto kind = read_node(g.node, g.where + ".node");
    if (!kind) return kind.error();
    kinds.push_back(std::move(*kind));
  }
  std::vector<std::string> assumed;
  auto nominal = choose_fabric(*q, kinds.front(), assumed);
  if (!nominal) return nominal.error();
  Fabric fabric = *nominal;
  std::vector<Group> groups;
  std::int64_t total = 0;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    Fabric again = *nominal;  // "x2" on a fabric constant counts once
    auto group = read_group(q->groups[i], *q, kinds[i], i == 0 ? fabric : again);
    if (!group) return group.error();
    total += group->nodes;
    groups.push_back(std::move(*group));
  }
  if (total > 200000)
    return Error{ErrorCode::kRange, q->where + ".groups", fmt::format("expected 1..200000 nodes, found {}", total), ""};
  const std::string name = q->name.empty() ? cluster_name(groups) : q->name;
  auto cluster = Regular::build(name, std::move(groups), fabric, faults, q->where + ".fabric");
  if (!cluster) return cluster.error();
  for (auto& sentence : assumed) (*cluster)->assume(std::move(sentence));
  return std::unique_ptr<Cluster>(std::move(*cluster));
}

}  // namespace twin::topo
