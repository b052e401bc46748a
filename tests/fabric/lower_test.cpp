// Loads of each algorithm against the numbers derived by hand in the comments.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>
#include "sim/fabric/members.hpp"
#include "tests/fabric/fake_view.hpp"

namespace twin::fabric {
namespace {

Pattern lowered(const View& v, Algorithm a, const std::vector<core::DeviceId>& m) {
  auto p = lower(v, a, m);
  REQUIRE(p);
  return *std::move(p);
}
double units(const Pattern& p, int link) {  // share of one buffer
  return static_cast<double>(load_on(p.loads, link)) / static_cast<double>(kUnit) *
         static_cast<double>(p.geometry.scale) / static_cast<double>(kUnit);
}

TEST_CASE("ring inside a domain loads every egress and ingress once", "[fast]") {
  const FakeView v({.nodes = 1});
  const Pattern p = lowered(v, Algorithm::kRing, all_devices(v));
  REQUIRE(p.geometry.scale == kUnit);
  REQUIRE(p.loads.size() == 16);
  for (const LinkLoad& l : p.loads) REQUIRE(l.units == kUnit);
}

TEST_CASE("ring over nodes: 7/8 of an edge on NVLink, 1/8 on each NIC", "[fast]") {
  const FakeView v({.nodes = 4});
  const Pattern p = lowered(v, Algorithm::kRing, all_devices(v));
  REQUIRE(units(p, 0) == Approx(7.0 / 8).epsilon(1e-5));
  for (int d = 0; d < v.devices(); ++d) REQUIRE(units(p, v.nic_tx(core::DeviceId{d})) == Approx(1.0 / 8).epsilon(1e-5));
  REQUIRE(p.geometry.domains == 4);
  REQUIRE(p.geometry.max_per_domain == 8);
  REQUIRE(p.geometry.reach == Reach::kLeaf);
}

TEST_CASE("ring on NICs that two devices share doubles their load", "[fast]") {
  const FakeView v({.nodes = 4, .nics = 4});
  const Pattern p = lowered(v, Algorithm::kRing, all_devices(v));
  REQUIRE(units(p, v.nic_tx(core::DeviceId{0})) == Approx(1.0 / 4).epsilon(1e-5));
}

TEST_CASE("ring with unequal domains spreads each edge over both", "[fast]") {
  // Domains of 3 and 2: 6 flows of 1/6; each of the 3 sends 1/3, each of the 2 receives 1/2.
  const FakeView v({.nodes = 2});
  const std::vector<core::DeviceId> m = {{0}, {1}, {2}, {8}, {9}};
  const Pattern p = lowered(v, Algorithm::kRing, m);
  for (int d : {0, 1, 2}) REQUIRE(units(p, v.nic_tx(core::DeviceId{d})) == Approx(1.0 / 3).epsilon(1e-5));
  for (int d : {8, 9}) REQUIRE(units(p, v.nic_tx(core::DeviceId{d}) + 1) == Approx(1.0 / 2).epsilon(1e-5));
  REQUIRE(p.geometry.min_per_domain == 2);
}

TEST_CASE("oversubscribed leaf and spine: uplinks carry the crossing edges split evenly", "[fast]") {
  // 4 nodes, 2 a leaf, 4 spines: one edge crosses from leaf 0 to leaf 1, so each of 4 uplinks carries 1/4.
  const FakeView v({.nodes = 4, .uplink = 50e9, .pod = 2, .spines = 4});
  const Pattern p = lowered(v, Algorithm::kRing, all_devices(v));
  int uplinks = 0;
  for (const LinkLoad& l : p.loads)
    if (v.link_name(l.link).starts_with("leaf")) {
      ++uplinks;
      REQUIRE(units(p, l.link.value) == Approx(0.25).epsilon(1e-5));
    }
  REQUIRE(uplinks == 16);
  REQUIRE(p.geometry.reach == Reach::kPod);
}

TEST_CASE("equal geometry gives equal integers on every domain", "[fast]") {
  const FakeView v({.nodes = 24, .per_node = 6, .nics = 6, .uplink = 300e9, .pod = 5, .spines = 3});
  for (const Algorithm a :
       {Algorithm::kRing, Algorithm::kTree, Algorithm::kNvlsTree, Algorithm::kSharp, Algorithm::kPairwise}) {
    std::vector<std::int64_t> first;
    for (int start = 0; start < 10; ++start) {  // the same two nodes' worth of members under one leaf, elsewhere
      std::vector<core::DeviceId> m;
      const int node = start / 2 * 5 + start % 2;
      if (node + 1 >= 24 || node / 5 != (node + 1) / 5) continue;
      for (int i = 0; i < 12; ++i) m.push_back(core::DeviceId{node * 6 + i});
      const Pattern p = lowered(v, a, m);
      std::vector<std::int64_t> now{p.geometry.scale};
      for (const LinkLoad& l : p.loads) now.push_back(l.units);
      if (first.empty()) first = now;
      REQUIRE(now == first);
    }
  }
}

TEST_CASE("btree: NCCL's shape, and in the double tree every rank is inner at most once", "[fast]") {
  REQUIRE(btree_parent(8, 0) == -1);
  REQUIRE(btree_parent(8, 4) == 0);
  REQUIRE(btree_parent(8, 2) == 4);
  REQUIRE(btree_parent(8, 6) == 4);
  REQUIRE(btree_parent(8, 7) == 6);
  for (int n = 2; n < 70; ++n) {
    std::vector<int> inner(static_cast<std::size_t>(n), 0);
    for (int t = 0; t < 2; ++t) {
      std::vector<int> children(static_cast<std::size_t>(n), 0);
      int roots = 0;
      for (int r = 0; r < n; ++r) {
        int at = r, depth = 0;
        while (dtree_parent(n, at, t) >= 0 && depth <= n) at = dtree_parent(n, at, t), ++depth;
        REQUIRE(depth <= static_cast<int>(std::ceil(std::log2(n))) + 1);
        const int up = dtree_parent(n, r, t);
        if (up < 0)
          ++roots;
        else
          ++children[static_cast<std::size_t>(up)];
      }
      REQUIRE(roots == 1);
      for (std::size_t r = 0; r < children.size(); ++r) {
        REQUIRE(children[r] <= 2);
        if (children[r] > 0) ++inner[r];
      }
    }
    if (n % 2 == 0)
      for (const int i : inner) REQUIRE(i <= 1);
  }
}

TEST_CASE("double tree over two nodes sends the buffer once each way", "[fast]") {
  // Tree 0: half up 1->0, half down; tree 1 the same with roles swapped: node egress 1 over 8 NICs.
  const FakeView v({.nodes = 2});
  const Pattern p = lowered(v, Algorithm::kTree, all_devices(v));
  REQUIRE(units(p, v.nic_tx(core::DeviceId{3})) == Approx(1.0 / 8).epsilon(1e-5));
  REQUIRE(units(p, 0) == Approx(2 * 7.0 / 8).epsilon(1e-5));
}

TEST_CASE("tree edges: total up and down is 2 (n-1) buffers over two trees", "[prop][fast]") {
  for (const int nodes : {2, 3, 5, 8, 13, 32}) {
    const FakeView v({.nodes = nodes, .per_node = 1, .nics = 1});
    const Pattern p = lowered(v, Algorithm::kTree, all_devices(v));
    double sent = 0;
    for (int d = 0; d < nodes; ++d) sent += units(p, v.nic_tx(core::DeviceId{d}));
    REQUIRE(sent == Approx(2.0 * (nodes - 1)).epsilon(1e-4));
  }
}

TEST_CASE("nvls: once up, once down; across nodes 1 + 1/k inside and a tree outside", "[fast]") {
  const FakeView one({.nodes = 1});
  REQUIRE(lowered(one, Algorithm::kNvls, all_devices(one)).geometry.scale == kUnit);
  const FakeView v({.nodes = 2});
  const Pattern p = lowered(v, Algorithm::kNvls, all_devices(v));
  REQUIRE(units(p, 0) == Approx(1 + 1.0 / 8).epsilon(1e-5));
  REQUIRE(units(p, v.nic_tx(core::DeviceId{0})) == Approx(1.0 / 8).epsilon(1e-5));
}

TEST_CASE("sharp: each NIC sends and receives its share once", "[fast]") {
  const FakeView v({.nodes = 16});
  const Pattern p = lowered(v, Algorithm::kSharp, all_devices(v));
  for (int d : {0, 17, 127}) {
    REQUIRE(units(p, v.nic_tx(core::DeviceId{d})) == Approx(1.0 / 8).epsilon(1e-5));
    REQUIRE(units(p, v.nic_tx(core::DeviceId{d}) + 1) == Approx(1.0 / 8).epsilon(1e-5));
  }
}

TEST_CASE("all-to-all with PXN: NIC carries (n-k)/n, NVLink its own part and what it forwards", "[fast]") {
  // n = 32, k = 8: a member sends to 7 neighbours their own message and, as each of 24 remote ranks has a rail, 3 more
  // for each of the 7 other rails: 7 * (1 + 3) / 32.
  const FakeView v({.nodes = 4});
  const Pattern p = lowered(v, Algorithm::kPairwise, all_devices(v));
  REQUIRE(units(p, v.nic_tx(core::DeviceId{5})) == Approx(24.0 / 32).epsilon(1e-5));
  REQUIRE(units(p, 0) == Approx(28.0 / 32).epsilon(1e-5));
  REQUIRE(units(p, 1) == Approx(28.0 / 32).epsilon(1e-5));
}

TEST_CASE("p2p loads one way, an exchange of two both ways", "[fast]") {
  const FakeView v({.nodes = 2});
  const std::vector<core::DeviceId> m = {{0}, {8}};
  REQUIRE(lowered(v, Algorithm::kPairwise, m).loads.size() == 2);
  const Pattern p = lowered(v, Algorithm::kExchange, m);
  REQUIRE(p.loads.size() == 4);
  REQUIRE(p.geometry.scale == kUnit / 2);
}

TEST_CASE("mesh domain: rings together use all links of a device", "[fast]") {
  const FakeView v({.nodes = 1, .mesh = true});
  const Pattern p = lowered(v, Algorithm::kRing, all_devices(v));
  REQUIRE(p.loads.size() == 56);
  REQUIRE(p.geometry.scale == Approx(kUnit / 7.0).margin(1));
}

TEST_CASE("no path: the error names the pair", "[fast]") {
  FakeView v({.nodes = 2});
  v.set_capacity(v.nic_tx(core::DeviceId{3}), 0);
  const auto p = lower(v, Algorithm::kRing, all_devices(v));
  REQUIRE_FALSE(p);
  REQUIRE(p.error().text().find("device 3 (node 0) to device 11 (node 1)") != std::string::npos);
}

TEST_CASE("loads conserve: what leaves the NICs arrives", "[prop][fast]") {
  std::mt19937 gen(1);
  for (int trial = 0; trial < 200; ++trial) {
    const FakeView v({.nodes = 6, .per_node = 4, .nics = 4});
    auto m = all_devices(v);
    std::shuffle(m.begin(), m.end(), gen);
    m.resize(2 + gen() % 22);
    for (const Algorithm a : {Algorithm::kRing, Algorithm::kTree, Algorithm::kExchange, Algorithm::kNvls}) {
      const Pattern p = lowered(v, a, m);
      std::int64_t tx = 0, rx = 0, max = 0;
      for (const LinkLoad& l : p.loads) {
        max = std::max(max, l.units);
        if (v.link_name(l.link).starts_with("nic")) (l.link.value % 2 == v.nic_tx({0}) % 2 ? tx : rx) += l.units;
      }
      REQUIRE(max == kUnit);
      REQUIRE(std::llabs(tx - rx) <= 48);
    }
  }
}

}  // namespace
}  // namespace twin::fabric
