// The parts a cluster is made of, as plain data read from the catalog: node kind (with its accelerator) and fabric.
// Overrides act on these before anything is built. Bandwidths are bytes/s per direction, latencies seconds.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>
#include "sim/core/result.hpp"
#include "sim/device/spec.hpp"

namespace twin::topo {

struct NodeKind {
  std::string name;
  device::Spec spec;
  int per_node = 8;
  std::string scaleup_kind = "nvswitch";  // nvswitch, nvlink-mesh, xgmi-mesh, pcie, ethernet, ici
  double scaleup_bytes_per_s = 0;         // per accelerator
  double scaleup_latency_s = 0;           // accelerator to accelerator, wire and switch
  int domain_nodes = 1;                   // nodes in a scale-up domain
  int unit_nodes = 1;                     // nodes that "x1" of a cluster name means (18 trays a rack)
  int nics = 8;                           // more NICs than accelerators are bundled, one bundle each
  double nic_bytes_per_s = 0;
  double nic_latency_s = 0;  // both ends together: PCIe, NIC, serialisation
  std::string nic_kind = "infiniband";
  double pcie_bytes_per_s = 0;
  double host_memory_bytes = 0;
  std::string cpu;
  bool nvls = false;
  nlohmann::json fabric;  // the usual one: a name, or an object with "base"
};

enum class FabricType { kSingleSwitch, kRailOptimized, kLeafSpine, kFatTree3, kTorus3d };

struct Fabric {
  std::string name;
  FabricType type = FabricType::kRailOptimized;
  bool rail = true;  // a leaf per NIC index (rail) instead of all NICs of a node on one leaf
  int nodes_per_leaf = 32;
  int leaf_groups_per_pod = 0;  // fat-tree-3: leaves (rail: sets of rail leaves) below one set of aggregation switches
  int spines = 16;              // two tiers: in all; three tiers: aggregation switches in a pod
  int cores_per_spine = 0;      // fat-tree-3: core uplinks of each aggregation switch
  double leaf_oversubscription = 1;
  double agg_oversubscription = 1;
  double switch_latency_s = -1;  // -1: by kind of network
  double edge_wire_s = 0, trunk_wire_s = 0, core_wire_s = 0;
  std::string scaleout;  // empty: the kind of the nodes' NICs
  bool sharp = false;
  bool ecmp = false;
  bool keep_unbindable = false;
};

// Names go through the catalog, files are read, objects taken as they stand; {"base": NAME, ...} changes a named one.
core::Result<NodeKind> read_node(const nlohmann::json& reference, const std::string& where);
core::Result<Fabric> read_fabric(const nlohmann::json& reference, const std::string& where);
core::Result<device::Spec> parse_accelerator(const nlohmann::json& object, const std::string& where);
double switch_latency_s(const std::string& scaleout);  // port to port

}  // namespace twin::topo
