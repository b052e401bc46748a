// A small cluster for the fabric layer's own tests: nodes of g devices on a switch, NICs, leaves of `pod` nodes,
// spines. Links: device egress and ingress, NIC tx and rx, leaf up and down per spine (none if spines = 0). Even split
// over spines.
#pragma once
#include <string>
#include <vector>
#include "sim/fabric/view.hpp"

namespace twin::fabric {

struct FakeShape {
  int nodes = 1, per_node = 8, nics = 8;
  double nvlink = 450e9, nic = 50e9, uplink = 0;
  int pod = 1 << 20, spines = 0;  // nodes under a leaf; each leaf is one switch for all rails
  bool mesh = false;
  std::string family = "hopper", scaleout = "infiniband";
  bool nvls = false, sharp = false;
};

class FakeView : public View {
 public:
  explicit FakeView(FakeShape s) : s_(std::move(s)), n_(s_.nodes * s_.per_node) {
    features_ = {s_.nvls, s_.sharp, s_.family, s_.scaleout};
    const int leaves = (s_.nodes + s_.pod - 1) / s_.pod;
    nic0_ = s_.mesh ? n_ * s_.per_node : 2 * n_;
    leaf0_ = nic0_ + 2 * s_.nodes * s_.nics;
    capacity_.assign(static_cast<std::size_t>(leaf0_ + 2 * leaves * s_.spines), 0);
    for (int i = 0; i < links(); ++i)
      capacity_[static_cast<std::size_t>(i)] = to_rate(i < nic0_ ? s_.nvlink : i < leaf0_ ? s_.nic : s_.uplink);
  }
  int devices() const override { return n_; }
  int links() const override { return static_cast<int>(capacity_.size()); }
  int nodes() const override { return s_.nodes; }
  std::int64_t capacity(core::LinkId l) const override { return capacity_[l.index()]; }
  void set_capacity(int l, std::int64_t c) { capacity_[static_cast<std::size_t>(l)] = c; }
  std::string link_name(core::LinkId l) const override {
    return (l.value < nic0_ ? "nvlink:" : l.value < leaf0_ ? "nic:" : "leaf:") + std::to_string(l.value);
  }
  core::NodeId node_of(core::DeviceId d) const override { return core::NodeId{d.value / s_.per_node}; }
  int scaleup_domain_of(core::DeviceId d) const override { return d.value / s_.per_node; }
  int rail_of(core::DeviceId d) const override { return d.value % s_.per_node * s_.nics / s_.per_node; }
  Reach reach(core::DeviceId a, core::DeviceId b) const override {
    if (a == b) return Reach::kSelf;
    if (node_of(a) == node_of(b)) return Reach::kScaleUp;
    return leaf(a) == leaf(b) ? Reach::kLeaf : Reach::kPod;
  }
  core::Time latency(Reach r) const override {
    return core::Time::ns(r <= Reach::kScaleUp ? 0 : r == Reach::kLeaf ? 1000 : 2000);
  }
  const DomainFeatures& features() const override { return features_; }
  int nic_tx(core::DeviceId d) const { return nic0_ + 2 * (node_of(d).value * s_.nics + rail_of(d)); }
  bool route(core::DeviceId a, core::DeviceId b, std::int64_t units, std::vector<LinkLoad>& out) const override {
    const auto put = [&](int link, std::int64_t u) {
      if (capacity_[static_cast<std::size_t>(link)] <= 0) return false;
      out.push_back({core::LinkId{link}, u});
      return true;
    };
    if (a == b) return true;
    if (node_of(a) == node_of(b)) {
      if (s_.mesh) return put(a.value * s_.per_node + b.value % s_.per_node, units);
      return put(2 * a.value, units) && put(2 * b.value + 1, units);
    }
    if (!put(nic_tx(a), units) || !put(nic_tx(b) + 1, units)) return false;
    if (s_.spines == 0 || leaf(a) == leaf(b)) return true;
    for (int s = 0; s < s_.spines; ++s)
      if (!put(leaf0_ + 2 * (leaf(a) * s_.spines + s), units / s_.spines) ||
          !put(leaf0_ + 2 * (leaf(b) * s_.spines + s) + 1, units / s_.spines))
        return false;
    return true;
  }

 private:
  int leaf(core::DeviceId d) const { return node_of(d).value / s_.pod; }
  FakeShape s_;
  int n_ = 0, nic0_ = 0, leaf0_ = 0;
  std::vector<std::int64_t> capacity_;
  DomainFeatures features_;
};

inline std::vector<core::DeviceId> all_devices(const View& v) {
  std::vector<core::DeviceId> m;
  for (int i = 0; i < v.devices(); ++i) m.push_back(core::DeviceId{i});
  return m;
}
inline std::int64_t load_on(const std::vector<LinkLoad>& loads, int link) {
  for (const LinkLoad& l : loads)
    if (l.link.value == link) return l.units;
  return 0;
}

}  // namespace twin::fabric
