// A Clos of any size with routes from coordinates: nodes on leaves (one a node group, or one a rail), leaves on spines,
// and with three tiers pods of aggregation switches on cores. A link's number is closed-form arithmetic on coordinates:
//   egress(device) ingress(device) tx(nic) rx(nic) | up(leaf, spine) down(leaf, spine) | up(agg, core) down(agg, core).
// A message between domains loads tx and rx of the two NICs and, split evenly (or on one path by hash), the tiers
// between. Assumption: switches never block inside; a PCIe switch that two devices and their NICs share has lanes for
// both. Leaf and aggregation links that can never bind are left out of routes: capacity >= sum of the NICs below x
// largest share.
#pragma once
#include <array>
#include <string>
#include <vector>
#include "topologies/cluster.hpp"
#include "topologies/parts.hpp"

namespace twin::topo {

struct Group {  // nodes of one kind, numbered one after the other
  NodeKind kind;
  int nodes = 0;
  int bundles = 0;  // NICs of a node as the routes see them: at most one a device
  int first_node = 0, first_device = 0, first_nic = 0, first_domain = 0;
};

// Numbers of things and first link of each block.
struct Layout {
  int devices = 0, nodes = 0, nics = 0, domains = 0;
  int rails = 1, leaf_groups = 1, leaves = 1, spines = 0;  // spines 0: a single switch
  int pods = 1, groups_per_pod = 0, cores = 0;             // cores: per aggregation switch; 0: two tiers
  int egress = 0, ingress = 0, tx = 0, rx = 0, up = 0, down = 0, agg_up = 0, agg_down = 0, links = 0;
};

class Regular final : public Cluster {
 public:
  static core::Result<std::unique_ptr<Regular>> build(std::string name, std::vector<Group> groups, Fabric fabric,
                                                      const std::vector<LinkFault>& faults, std::string where);
  int devices() const override { return at_.devices; }
  int links() const override { return at_.links; }
  int nodes() const override { return at_.nodes; }
  std::int64_t capacity(core::LinkId link) const override { return capacity_[link.index()]; }
  std::string link_name(core::LinkId link) const override;
  core::NodeId node_of(core::DeviceId d) const override;
  int scaleup_domain_of(core::DeviceId d) const override;
  int rail_of(core::DeviceId d) const override;
  fabric::Reach reach(core::DeviceId a, core::DeviceId b) const override;
  core::Time latency(fabric::Reach r) const override { return latency_[static_cast<std::size_t>(r)]; }
  bool route(core::DeviceId a, core::DeviceId b, std::int64_t units, std::vector<fabric::LinkLoad>& out) const override;
  const fabric::DomainFeatures& features() const override { return features_; }
  const device::Spec& spec(core::DeviceId d) const override { return group_of(d.value).kind.spec; }
  const std::string& name() const override { return name_; }
  int devices_per_node() const override { return groups_.front().kind.per_node; }
  double host_memory_bytes() const override { return groups_.front().kind.host_memory_bytes; }
  bool regular() const override { return groups_.size() == 1 && healthy_ && !fabric_.ecmp; }
  std::vector<std::string> assumed() const override { return assumed_; }
  std::shared_ptr<const LinkGraph> graph() const override;
  void assume(std::string sentence) { assumed_.push_back(std::move(sentence)); }

  const Layout& layout() const { return at_; }
  const std::vector<Group>& groups() const { return groups_; }
  const Fabric& fabric() const { return fabric_; }
  const Group& group_of_node(int node) const;
  int nic_of(int device) const;  // global number of the NIC in use; -1: all of the node are down
  int leaf_of_nic(const Group& g, int nic) const;
  int pod_of_leaf(int leaf) const { return at_.cores == 0 ? 0 : leaf / at_.rails / at_.groups_per_pod; }

 private:
  Regular() = default;
  const Group& group_of(int device) const;
  core::Result<void> number_links(const std::string& where);
  void set_capacities();
  void set_latencies();
  core::Result<void> apply(const std::vector<LinkFault>& faults, const std::string& where);
  void find_detours();
  void prune();
  std::vector<double> leaf_sums() const;
  std::vector<int> fewest_paths(bool up) const;
  bool may_bind(int first, int count, double below, double parts) const;
  bool climb(int from, int to, std::int64_t units, std::uint64_t hash, std::vector<fabric::LinkLoad>& out) const;
  bool over_spines(int from, int to, std::int64_t units, std::uint64_t hash, std::vector<fabric::LinkLoad>& out) const;
  bool over_cores(int from, int to, std::int64_t units, std::uint64_t hash, std::vector<fabric::LinkLoad>& out) const;
  int alive_spines(int from, int to) const;
  bool alive(int link) const { return capacity_[static_cast<std::size_t>(link)] > 0; }
  void load(int link, std::int64_t units, std::vector<fabric::LinkLoad>& out) const {
    out.push_back({core::LinkId{link}, units});
  }

  std::string name_;
  std::vector<Group> groups_;
  Fabric fabric_;
  Layout at_;
  std::vector<std::int64_t> capacity_;
  std::vector<char> keep_up_, keep_down_, keep_agg_up_, keep_agg_down_;  // by leaf, by pod
  std::vector<int> nic_in_use_;                                          // by device; empty: each its own
  std::array<core::Time, 6> latency_{};
  fabric::DomainFeatures features_;
  std::vector<std::string> assumed_;
  bool healthy_ = true;
  bool dead_ = false;  // some leaf or aggregation link is down
};

}  // namespace twin::topo
