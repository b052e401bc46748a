// A cluster: accelerators, nodes, fabric, built from the catalog at any size, and the fabric::View on it.
// Links live in a Boost.Graph compressed sparse row graph (directed edges with capacity and latency). Regular fabrics
// compute routes; nothing holds all-pairs tables. Leaf links that can never bind are left out of routes
// (folding.md, 8.4).
#pragma once
#include <memory>
#include <string>
#include <vector>
#include "sim/core/result.hpp"
#include "sim/device/spec.hpp"
#include "sim/fabric/view.hpp"
#include "topologies/cluster_ref.hpp"

namespace twin::topo {

struct LinkFault {
  std::string match;    // "nic:node17/3", "nvlink:node17/3", "leaf:4/uplink/2", "*" for any part
  double capacity = 1;  // fraction of nominal, both directions; overlapping matches multiply
};

struct LinkGraph;  // topologies/graph.hpp

class Cluster : public fabric::View {
 public:
  virtual const device::Spec& spec(core::DeviceId d) const = 0;
  virtual const std::string& name() const = 0;  // "dgx-h100x64"
  virtual int devices_per_node() const = 0;
  virtual double host_memory_bytes() const = 0;  // per node
  virtual bool regular() const = 0;              // homogeneous, healthy, computed routes: folding may use coordinates
  virtual std::vector<std::string> assumed()
      const = 0;  // defaults that were taken ("fabric rail-optimized, the usual one of dgx-h100")
  // The same links as a Boost.Graph; made anew by each call, since large regular clusters never need it.
  virtual std::shared_ptr<const LinkGraph> graph() const { return nullptr; }
};

// Resolves names through the user's folder first ($TRAINTWIN_CATALOG), then the embedded catalog. Errors name file,
// field, expected, found, nearest. A fault whose selector matches no link is an error.
core::Result<std::unique_ptr<Cluster>> build_cluster(const ClusterRef& ref, const std::vector<LinkFault>& faults = {});

core::Result<device::Spec> find_accelerator(const std::string& name);
std::vector<std::string> catalog_names(const std::string& kind);  // "accelerators", "nodes", "fabrics", "clusters"
core::Result<std::string> catalog_json(const std::string& kind, const std::string& name);

}  // namespace twin::topo
