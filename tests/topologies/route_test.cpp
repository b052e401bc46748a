// Routes: they form paths of existing links, conserve units per tier, agree with Boost's shortest paths, and leave out
// only what can never bind.
#include <catch2/catch.hpp>
#include <chrono>
#include <map>
#include <random>
#include <set>
#include "topologies/cluster.hpp"
#include "topologies/graph.hpp"

using namespace twin;
using core::DeviceId;
using core::LinkId;
using fabric::kUnit;
using fabric::LinkLoad;
using topo::build_cluster;
using topo::ClusterRef;
using topo::LinkFault;

namespace {

std::unique_ptr<topo::Cluster> make(const std::string& inline_json, const std::vector<LinkFault>& faults = {}) {
  ClusterRef ref;
  ref.inline_json = inline_json;
  auto c = build_cluster(ref, faults);
  if (!c) FAIL(c.error().text());
  return std::move(*c);
}

std::vector<LinkLoad> route(const topo::Cluster& c, int a, int b, std::int64_t units = kUnit) {
  std::vector<LinkLoad> out;
  REQUIRE(c.route(DeviceId{a}, DeviceId{b}, units, out));
  return out;
}

// "nic:node3/1:tx" -> "nic:tx", "leaf:4/uplink/2" -> "leaf:uplink"
std::string tier(const topo::Cluster& c, LinkId link) {
  const std::string n = c.link_name(link);
  const std::string kind = n.substr(0, n.find(':'));
  if (kind == "leaf" || kind == "agg") return kind + (n.find("uplink") != std::string::npos ? ":uplink" : ":downlink");
  return kind + n.substr(n.rfind(':'));
}

const char* const kClusters[] = {
    R"({"node": "dgx-h100", "nodes": 70, "keep_unbindable": true})",
    R"({"node": "dgx-a100", "nodes": 40, "fabric": {"base": "leaf-spine", "nodes_per_leaf": 4, "spines": 3}, "keep_unbindable": true})",
    R"({"node": "gb200-nvl72", "nodes": 50, "keep_unbindable": true})",
    R"({"node": "jean-zay-a100", "nodes": 33, "keep_unbindable": true})",
    R"({"node": "dgx-h100", "nodes": 9, "fabric": "single-switch", "keep_unbindable": true})",
    R"({"node": "dgx-h100", "nodes": 13, "fabric": {"base": "llama3-roce-24k", "leaf_groups_per_pod": 3, "spines": 4, "cores_per_spine": 3}, "keep_unbindable": true})",
    R"({"node": "dgx-h100", "nodes": 24, "fabric": {"base": "fat-tree-3", "nodes_per_leaf": 3, "leaf_groups_per_pod": 2, "spines": 5, "cores_per_spine": 2}, "keep_unbindable": true})",
    R"({"groups": [{"node": "dgx-h100", "nodes": 5}, {"node": "jean-zay-a100", "nodes": 6}, {"node": "gb200-nvl72", "nodes": 20}], "fabric": {"base": "rail-optimized", "nodes_per_leaf": 4, "spines": 7}, "keep_unbindable": true})",
};

}  // namespace

TEST_CASE("units are conserved in every tier", "[fast][prop]") {
  std::mt19937 random(7);
  for (const char* json : kClusters) {
    for (const char* routing : {"even", "ecmp"}) {
      std::string text = json;
      text.insert(1, std::string("\"routing\": \"") + routing + "\", ");
      INFO(text);
      auto c = make(text);
      for (int trial = 0; trial < 100; ++trial) {
        const int a = static_cast<int>(random() % static_cast<unsigned>(c->devices()));
        const int b = static_cast<int>(random() % static_cast<unsigned>(c->devices()));
        const std::int64_t units = 1 + static_cast<std::int64_t>(random() % 1000000);
        std::map<std::string, std::int64_t> sum;
        std::map<std::string, std::set<std::int64_t>> shares;
        std::map<std::string, std::int64_t> count;
        const auto loads = route(*c, a, b, units);
        for (const auto& l : loads) {
          sum[tier(*c, l.link)] += l.units;
          shares[tier(*c, l.link)].insert(l.units);
          ++count[tier(*c, l.link)];
        }
        for (const auto& [t, total] : sum) {
          INFO(t);
          CHECK(std::abs(total - units) <= count[t] / 2 + 1);  // each share is rounded once
          CHECK(shares[t].size() == 1);
          if (std::string(routing) == "ecmp") CHECK(count[t] == 1);
        }
        if (a != b) {
          const bool inside = c->scaleup_domain_of(DeviceId{a}) == c->scaleup_domain_of(DeviceId{b});
          CHECK(tier(*c, loads.front().link) == (inside ? "nvlink:out" : "nic:tx"));
          CHECK(tier(*c, loads.back().link) == (inside ? "nvlink:in" : "nic:rx"));
        }
        CHECK(route(*c, b, a, units).size() == loads.size());  // as many back
      }
    }
  }
}

TEST_CASE("routes agree with Boost's shortest paths", "[fast][prop]") {
  std::mt19937 random(11);
  for (const char* json : kClusters) {
    INFO(json);
    auto c = make(json);
    const auto graph = c->graph();
    REQUIRE(graph);
    std::map<int, std::pair<int, int>> ends;  // link -> tail, head
    for (auto [e, last] = boost::edges(graph->csr); e != last; ++e) {
      const auto& edge = graph->csr[*e];
      if (!edge.link.valid()) continue;
      ends[edge.link.value] = {boost::source(*e, graph->csr), boost::target(*e, graph->csr)};
      CHECK(edge.capacity == c->capacity(edge.link));
    }
    CHECK(static_cast<int>(ends.size()) == c->links());
    for (int trial = 0; trial < 6; ++trial) {
      const int a = static_cast<int>(random() % static_cast<unsigned>(c->devices()));
      const topo::ShortestPaths paths(*graph, graph->gpu[static_cast<std::size_t>(a)]);
      for (int k = 0; k < 40; ++k) {
        const int b = static_cast<int>(random() % static_cast<unsigned>(c->devices()));
        if (a == b) continue;
        const auto to = graph->gpu[static_cast<std::size_t>(b)];
        REQUIRE(paths.reaches(to));
        const auto loads = route(*c, a, b);
        std::set<std::string> tiers;
        for (const auto& l : loads) tiers.insert(tier(*c, l.link));
        CHECK(tiers.size() == paths.links(to).size());
        CHECK(paths.latency_ns(to) == c->latency(c->reach(DeviceId{a}, DeviceId{b})).count());
        // The loaded links form paths: every switch receives what it sends.
        std::map<int, std::int64_t> balance;
        for (const auto& l : loads) {
          balance[ends[l.link.value].first] -= l.units;
          balance[ends[l.link.value].second] += l.units;
        }
        for (const auto& [vertex, net] : balance) {
          const auto kind = graph->kind[static_cast<std::size_t>(vertex)];
          if (kind == topo::VertexKind::kGpu || kind == topo::VertexKind::kNic) continue;
          CHECK(std::abs(net) <= static_cast<std::int64_t>(loads.size()));
        }
      }
    }
  }
}

TEST_CASE("links that can never bind are left out, the others are not", "[fast]") {
  // Full bisection: only the NICs can bind.
  CHECK(route(*make(R"({"node": "dgx-h100", "nodes": 64})"), 0, 511).size() == 2);
  // 2:1: each of 4 spines carries a quarter up and down.
  auto over = make(
      R"({"node": "dgx-h100", "nodes": 64, "fabric": {"base": "leaf-spine", "spines": 4, "leaf_oversubscription": 2}})");
  CHECK(route(*over, 0, 511).size() == 2 + 8);
  // ECMP can put a whole leaf on one spine, so nothing may be left out.
  CHECK(route(*make(R"({"node": "dgx-h100", "nodes": 64, "routing": "ecmp"})"), 0, 511).size() == 4);
  // Llama 3: full bisection inside a pod, 1:7 above: only the core links stay.
  auto meta = make(R"({"node": "dgx-h100", "nodes": 2048, "fabric": "llama3-roce-24k"})");
  CHECK(route(*meta, 0, 3000).size() == 2);
  CHECK(route(*meta, 0, 4000).size() == 2 + 2 * 16);
  // A leaf that is half empty still has all its uplinks: 4 of 16 nodes cannot fill 1/2 of full bandwidth.
  auto part = make(
      R"({"node": "dgx-h100", "nodes": 20, "fabric": {"base": "leaf-spine", "spines": 4, "leaf_oversubscription": 2}})");
  CHECK(route(*part, 0, 159).size() == 2 + 4);  // the full leaf's uplinks bind, the part-filled one's downlinks do not
}

TEST_CASE("pruning never removes a link that the worst traffic could fill", "[fast][prop]") {
  std::mt19937 random(3);
  for (int trial = 0; trial < 40; ++trial) {
    const int spines = 2 + static_cast<int>(random() % 4), nodes = 9 + static_cast<int>(random() % 12);
    const double ratio = 0.5 + 0.25 * static_cast<double>(random() % 6);
    const std::string json =
        "{\"node\": \"jean-zay-a100\", \"nodes\": " + std::to_string(nodes) +
        ", \"fabric\": {\"base\": \"leaf-spine\", \"nodes_per_leaf\": 4, \"spines\": " + std::to_string(spines) +
        ", \"leaf_oversubscription\": " + std::to_string(ratio) + "}";
    std::vector<LinkFault> faults;
    if (trial % 2 == 1) faults.push_back({"leaf:1/uplink/0", 0});
    if (trial % 4 == 3) faults.push_back({"leaf:0/uplink/1", 0.3});
    auto pruned = make(json + "}", faults), whole = make(json + ", \"keep_unbindable\": true}", faults);
    // All NICs of leaf 0 send at full rate to one other leaf, each choice of that leaf in turn.
    const int per_leaf = 4 * 8;
    for (int target = 1; (target + 1) * per_leaf <= pruned->devices(); ++target) {
      std::map<int, std::int64_t> load;
      std::set<int> kept;
      for (int i = 0; i < per_leaf; i += 2) {  // one GPU per NIC
        std::vector<LinkLoad> out;
        if (!whole->route(DeviceId{i}, DeviceId{target * per_leaf + i}, kUnit, out)) continue;
        for (const auto& l : out) load[l.link.value] += l.units;
        for (const auto& l : route(*pruned, i, target * per_leaf + i)) kept.insert(l.link.value);
      }
      for (const auto& [link, units] : load) {
        const double demand = static_cast<double>(units) / static_cast<double>(kUnit) * 12.5e9;
        if (demand > 1.001 * fabric::from_rate(whole->capacity(LinkId{link}))) CHECK(kept.count(link) == 1);
      }
    }
  }
}

TEST_CASE("131,072 GPUs are built quickly and routed without tables", "[fast]") {
  const auto start = std::chrono::steady_clock::now();
  for (const char* json : {R"({"node": "dgx-h100", "nodes": 16384})",
                           R"({"node": "dgx-h100", "nodes": 16384, "fabric": "llama3-roce-24k"})"}) {
    auto c = make(json);
    CHECK(c->devices() == 131072);
    std::vector<LinkLoad> out;
    std::int64_t sum = 0;
    for (int i = 0; i < 100000; ++i) {
      out.clear();
      REQUIRE(c->route(DeviceId{i}, DeviceId{(i + 64) % 131072}, kUnit, out));
      sum += out.front().units;
    }
    CHECK(sum == 100000 * kUnit);
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  CHECK(seconds < 3);  // 20 times what it takes on one idle core
}

TEST_CASE("a user's graph", "[fast]") {
  const std::string text = R"({"graph": {"accelerator": "h100-sxm",
    "vertices": [{"id": "a", "kind": "gpu", "node": 0}, {"id": "b", "kind": "gpu", "node": 0}, {"id": "c", "kind": "gpu", "node": 1},
                 {"id": "l0", "kind": "leaf"}, {"id": "l1", "kind": "leaf"}, {"id": "s", "kind": "spine"}, {"id": "n", "kind": "nvswitch"}],
    "edges": [{"from": "a", "to": "n", "gbit_per_s": 3600, "latency_us": 0.25}, {"from": "b", "to": "n", "gbit_per_s": 3600, "latency_us": 0.25},
              {"from": "a", "to": "l0", "gbit_per_s": 400, "latency_us": 1}, {"from": "b", "to": "l0", "gbit_per_s": 400, "latency_us": 1},
              {"from": "c", "to": "l1", "gbit_per_s": 200, "latency_us": 1}, {"from": "l0", "to": "s", "gbit_per_s": 800, "latency_us": 0.5},
              {"from": "s", "to": "l1", "gbit_per_s": 800, "latency_us": 0.5}]}})";
  auto c = make(text);
  CHECK(c->devices() == 3);
  CHECK(c->links() == 14);
  CHECK(c->reach(DeviceId{0}, DeviceId{1}) == fabric::Reach::kScaleUp);
  CHECK(c->reach(DeviceId{0}, DeviceId{2}) == fabric::Reach::kPod);
  CHECK(c->latency(fabric::Reach::kPod) == core::Time::ns(3000));
  const auto there = route(*c, 0, 2);
  REQUIRE(there.size() == 4);
  CHECK(c->link_name(there[0].link) == "edge:a/l0");
  CHECK(fabric::from_rate(c->capacity(there[3].link)) == Approx(25e9));
  // With a's NIC dead the only way out would lead through b, and a GPU does not forward.
  auto broken = make(text, {{"edge:a/l0", 0}});
  std::vector<LinkLoad> out;
  CHECK_FALSE(broken->route(DeviceId{0}, DeviceId{2}, kUnit, out));
  CHECK(broken->route(DeviceId{1}, DeviceId{2}, kUnit, out));
}
