#include "topologies/regular.hpp"
#include <fmt/format.h>
#include <algorithm>

namespace twin::topo {

using core::Error;
using core::ErrorCode;
using core::Result;
using core::Time;
using fabric::Reach;

Result<std::unique_ptr<Regular>> Regular::build(std::string name, std::vector<Group> groups, Fabric fabric,
                                                const std::vector<LinkFault>& faults, std::string where) {
  if (fabric.type == FabricType::kTorus3d)
    return Error{ErrorCode::kUnsupported, where, "fabric \"" + fabric.name + "\" is not yet built",
                 "use rail-optimized, leaf-spine, fat-tree-3 or single-switch"};
  std::unique_ptr<Regular> c(new Regular());
  c->name_ = std::move(name);
  c->groups_ = std::move(groups);
  c->fabric_ = std::move(fabric);
  if (auto numbered = c->number_links(where); !numbered) return numbered.error();
  c->set_capacities();
  c->set_latencies();
  if (auto applied = c->apply(faults, where); !applied) return applied.error();
  if (!c->healthy_) c->find_detours();
  c->prune();
  c->features_ = {.nvls = std::all_of(c->groups_.begin(), c->groups_.end(), [](const Group& g) { return g.kind.nvls; }),
                  .sharp = c->fabric_.sharp,
                  .family = c->groups_.front().kind.spec.family,
                  .scaleout = c->fabric_.scaleout.empty() ? c->groups_.front().kind.nic_kind : c->fabric_.scaleout};
  return c;
}

Result<void> Regular::number_links(const std::string& where) {
  std::int64_t devices = 0, nics = 0, nodes = 0, domains = 0;
  for (auto& g : groups_) {
    g.bundles = std::min(g.kind.nics, g.kind.per_node);
    g.kind.nic_bytes_per_s *= static_cast<double>(g.kind.nics) / g.bundles;
    g.first_node = static_cast<int>(nodes);
    g.first_device = static_cast<int>(devices);
    g.first_nic = static_cast<int>(nics);
    g.first_domain = static_cast<int>(domains);
    nodes += g.nodes;
    devices += std::int64_t{g.nodes} * g.kind.per_node;
    nics += std::int64_t{g.nodes} * g.bundles;
    domains += (g.nodes + g.kind.domain_nodes - 1) / g.kind.domain_nodes;
    if (fabric_.rail) at_.rails = std::max(at_.rails, g.bundles);
  }
  if (fabric_.type == FabricType::kSingleSwitch) {
    fabric_.rail = false;
    at_.rails = 1;
    fabric_.nodes_per_leaf = static_cast<int>(nodes);
  }
  const std::int64_t leaf_groups = (nodes + fabric_.nodes_per_leaf - 1) / fabric_.nodes_per_leaf;
  const std::int64_t leaves = leaf_groups * at_.rails;
  at_.spines = fabric_.type == FabricType::kSingleSwitch ? 0 : fabric_.spines;
  std::int64_t agg_links = 0;
  if (fabric_.type == FabricType::kFatTree3) {
    at_.groups_per_pod = fabric_.leaf_groups_per_pod;
    at_.cores = fabric_.cores_per_spine;
    at_.pods = static_cast<int>((leaf_groups + at_.groups_per_pod - 1) / at_.groups_per_pod);
    agg_links = std::int64_t{at_.pods} * at_.spines * at_.cores;
  }
  const std::int64_t total = 2 * (devices + nics + leaves * at_.spines + agg_links);
  if (total > 100'000'000)
    return Error{ErrorCode::kRange, where, fmt::format("expected at most 100000000 links, found {}", total),
                 "fewer nodes, spines or uplinks"};
  at_.devices = static_cast<int>(devices);
  at_.nodes = static_cast<int>(nodes);
  at_.nics = static_cast<int>(nics);
  at_.domains = static_cast<int>(domains);
  at_.leaf_groups = static_cast<int>(leaf_groups);
  at_.leaves = static_cast<int>(leaves);
  at_.ingress = at_.devices;
  at_.tx = 2 * at_.devices;
  at_.rx = at_.tx + at_.nics;
  at_.up = at_.rx + at_.nics;
  at_.down = at_.up + at_.leaves * at_.spines;
  at_.agg_up = at_.down + at_.leaves * at_.spines;
  at_.agg_down = at_.agg_up + static_cast<int>(agg_links);
  at_.links = static_cast<int>(total);
  return {};
}

// Uplinks are sized for full leaves and pods: a last one that is not full has the uplinks of its full self.
void Regular::set_capacities() {
  capacity_.assign(static_cast<std::size_t>(at_.links), 0);
  const auto fill = [&](int first, int count, double bytes_per_s) {
    std::fill_n(capacity_.begin() + first, count, fabric::to_rate(bytes_per_s));
  };
  for (const auto& g : groups_) {
    fill(at_.egress + g.first_device, g.nodes * g.kind.per_node, g.kind.scaleup_bytes_per_s);
    fill(at_.ingress + g.first_device, g.nodes * g.kind.per_node, g.kind.scaleup_bytes_per_s);
    fill(at_.tx + g.first_nic, g.nodes * g.bundles, g.kind.nic_bytes_per_s);
    fill(at_.rx + g.first_nic, g.nodes * g.bundles, g.kind.nic_bytes_per_s);
  }
  if (at_.spines == 0) return;
  std::vector<double> full(static_cast<std::size_t>(at_.leaves), 0);  // bytes/s of the NICs of a full leaf
  for (int lg = 0; lg < at_.leaf_groups; ++lg)
    for (int i = 0; i < fabric_.nodes_per_leaf; ++i) {
      const Group& g = group_of_node(std::min(lg * fabric_.nodes_per_leaf + i, at_.nodes - 1));
      for (int nic = 0; nic < g.bundles; ++nic)
        full[static_cast<std::size_t>(lg * at_.rails + (fabric_.rail ? nic : 0))] += g.kind.nic_bytes_per_s;
    }
  for (int leaf = 0; leaf < at_.leaves; ++leaf) {
    const double each = full[static_cast<std::size_t>(leaf)] / fabric_.leaf_oversubscription / at_.spines;
    fill(at_.up + leaf * at_.spines, at_.spines, each);
    fill(at_.down + leaf * at_.spines, at_.spines, each);
  }
  const int per_pod = at_.spines * at_.cores;
  for (int pod = 0; at_.cores > 0 && pod < at_.pods; ++pod) {
    double sum = 0;
    for (int i = 0; i < at_.groups_per_pod * at_.rails; ++i) {
      const int group = std::min(pod * at_.groups_per_pod + i / at_.rails, at_.leaf_groups - 1);
      sum += full[static_cast<std::size_t>(group * at_.rails + i % at_.rails)];
    }
    const double each = sum / fabric_.leaf_oversubscription / fabric_.agg_oversubscription / per_pod;
    fill(at_.agg_up + pod * per_pod, per_pod, each);
    fill(at_.agg_down + pod * per_pod, per_pod, each);
  }
}

// NIC latency covers both ends; then switches and cables one by one.
void Regular::set_latencies() {
  double nic = 0, scaleup = 0;
  for (const auto& g : groups_) {
    nic = std::max(nic, g.kind.nic_latency_s);
    scaleup = std::max(scaleup, g.kind.scaleup_latency_s);
  }
  const double hop = fabric_.switch_latency_s;
  const double leaf = nic + hop + 2 * fabric_.edge_wire_s;
  const double pod = leaf + 2 * hop + 2 * fabric_.trunk_wire_s;
  latency_ = {Time::zero(),
              Time::from_seconds(scaleup),
              Time::from_seconds(scaleup),
              Time::from_seconds(leaf),
              Time::from_seconds(pod),
              Time::from_seconds(pod + 2 * hop + 2 * fabric_.core_wire_s)};
}

const Group& Regular::group_of(int device) const {
  std::size_t i = groups_.size() - 1;
  while (i > 0 && device < groups_[i].first_device) --i;
  return groups_[i];
}

const Group& Regular::group_of_node(int node) const {
  std::size_t i = groups_.size() - 1;
  while (i > 0 && node < groups_[i].first_node) --i;
  return groups_[i];
}

core::NodeId Regular::node_of(core::DeviceId d) const {
  const Group& g = group_of(d.value);
  return {g.first_node + (d.value - g.first_device) / g.kind.per_node};
}

int Regular::scaleup_domain_of(core::DeviceId d) const {
  const Group& g = group_of(d.value);
  return g.first_domain + (d.value - g.first_device) / (g.kind.per_node * g.kind.domain_nodes);
}

int Regular::nic_of(int device) const {
  if (!nic_in_use_.empty()) return nic_in_use_[static_cast<std::size_t>(device)];
  const Group& g = group_of(device);
  const int local = device - g.first_device, node = local / g.kind.per_node;
  return g.first_nic + node * g.bundles + (local - node * g.kind.per_node) * g.bundles / g.kind.per_node;
}

int Regular::rail_of(core::DeviceId d) const {
  const Group& g = group_of(d.value);
  const int nic = nic_of(d.value);
  return nic < 0 ? -1 : (nic - g.first_nic) % g.bundles;
}

int Regular::leaf_of_nic(const Group& g, int nic) const {
  const int local = nic - g.first_nic, node = local / g.bundles;
  const int leaf_group = (g.first_node + node) / fabric_.nodes_per_leaf;
  return fabric_.rail ? leaf_group * at_.rails + (local - node * g.bundles) : leaf_group;
}

Reach Regular::reach(core::DeviceId a, core::DeviceId b) const {
  if (a == b) return Reach::kSelf;
  const Group& ga = group_of(a.value);
  if (scaleup_domain_of(a) == scaleup_domain_of(b))
    return ga.kind.scaleup_kind == "pcie" ? Reach::kNode : Reach::kScaleUp;
  const int na = nic_of(a.value), nb = nic_of(b.value);
  if (na < 0 || nb < 0) return Reach::kCore;
  const int la = leaf_of_nic(ga, na), lb = leaf_of_nic(group_of(b.value), nb);
  if (la == lb) return Reach::kLeaf;
  return pod_of_leaf(la) == pod_of_leaf(lb) ? Reach::kPod : Reach::kCore;
}

std::string Regular::link_name(core::LinkId id) const {
  const int l = id.value;
  const auto on_node = [&](const char* kind, int local, int per_node, const Group& g, const char* way) {
    return fmt::format("{}:node{}/{}:{}", kind, g.first_node + local / per_node, local % per_node, way);
  };
  if (l < at_.tx) {
    const int device = l % at_.devices;
    const Group& g = group_of(device);
    return on_node("nvlink", device - g.first_device, g.kind.per_node, g, l < at_.ingress ? "out" : "in");
  }
  if (l < at_.up) {
    const int nic = (l - at_.tx) % at_.nics;
    std::size_t i = groups_.size() - 1;
    while (i > 0 && nic < groups_[i].first_nic) --i;
    return on_node("nic", nic - groups_[i].first_nic, groups_[i].bundles, groups_[i], l < at_.rx ? "tx" : "rx");
  }
  if (l < at_.agg_up) {
    const int i = (l - at_.up) % (at_.leaves * at_.spines);
    return fmt::format("leaf:{}/{}/{}", i / at_.spines, l < at_.down ? "uplink" : "downlink", i % at_.spines);
  }
  const int i = (l - at_.agg_up) % (at_.pods * at_.spines * at_.cores);
  return fmt::format("agg:{}/{}/{}", i / at_.cores, l < at_.agg_down ? "uplink" : "downlink", i % at_.cores);
}

}  // namespace twin::topo
