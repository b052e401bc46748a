// Names and objects become clusters with the right counts and capacities.
#include <catch2/catch.hpp>
#include "topologies/cluster.hpp"

using namespace twin;
using core::DeviceId;
using core::LinkId;
using fabric::Reach;
using topo::build_cluster;
using topo::ClusterRef;

namespace {

std::unique_ptr<topo::Cluster> make(const ClusterRef& ref) {
  auto c = build_cluster(ref);
  if (!c) FAIL(c.error().text());
  return std::move(*c);
}

double bandwidth(const topo::Cluster& c, const std::string& link) {
  for (int i = 0; i < c.links(); ++i)
    if (c.link_name(LinkId{i}) == link) return fabric::from_rate(c.capacity(LinkId{i}));
  FAIL("no link " + link);
  return 0;
}

}  // namespace

TEST_CASE("dgx-h100x64 is 512 GPUs on rails", "[fast]") {
  auto c = make({.name = "dgx-h100x64"});
  CHECK(c->devices() == 512);
  CHECK(c->nodes() == 64);
  CHECK(c->name() == "dgx-h100x64");
  CHECK(c->devices_per_node() == 8);
  CHECK(c->regular());
  CHECK(c->features().nvls);
  CHECK_FALSE(c->features().sharp);
  CHECK(c->features().scaleout == "infiniband");
  CHECK(c->features().family == "hopper");
  REQUIRE(c->assumed().size() == 1);
  CHECK(bandwidth(*c, "nvlink:node63/7:out") == Approx(450e9));
  CHECK(bandwidth(*c, "nic:node63/7:rx") == Approx(50e9));
  CHECK(bandwidth(*c, "leaf:15/uplink/15") == Approx(32 * 50e9 / 16));
  CHECK(c->links() == 2 * (512 + 512 + 16 * 16));  // 2 pods x 8 rails leaves x 16 spines
  CHECK(c->reach(DeviceId{0}, DeviceId{7}) == Reach::kScaleUp);
  CHECK(c->reach(DeviceId{0}, DeviceId{8}) == Reach::kLeaf);
  CHECK(c->reach(DeviceId{0}, DeviceId{9}) == Reach::kPod);
  CHECK(c->reach(DeviceId{0}, DeviceId{256}) == Reach::kPod);
  CHECK(c->latency(Reach::kScaleUp) < c->latency(Reach::kLeaf));
  CHECK(c->latency(Reach::kLeaf) < c->latency(Reach::kPod));
  CHECK(c->latency(Reach::kPod) < c->latency(Reach::kCore));
}

TEST_CASE("the named nodes have their usual NICs", "[fast]") {
  struct Row {
    const char* name;
    int devices, nodes;
    double nic, nvlink;
  };
  for (const Row& row : {Row{"dgx-a100x4", 32, 4, 25e9, 300e9}, Row{"dgx-b200x2", 16, 2, 50e9, 900e9},
                         Row{"dgx-h200x2", 16, 2, 50e9, 450e9}, Row{"gb200-nvl72x8", 576, 144, 50e9, 900e9},
                         Row{"gb300-nvl72", 72, 18, 100e9, 900e9}, Row{"DGX_H100x3", 24, 3, 50e9, 450e9},
                         Row{"p4dx2", 16, 2, 12.5e9, 300e9}, Row{"mi300x-8x2", 16, 2, 50e9, 448e9}}) {
    INFO(row.name);
    auto c = make({.name = row.name});
    CHECK(c->devices() == row.devices);
    CHECK(c->nodes() == row.nodes);
    CHECK(bandwidth(*c, "nic:node0/0:tx") == Approx(row.nic));
    CHECK(bandwidth(*c, "nvlink:node0/0:in") == Approx(row.nvlink));
  }
}

TEST_CASE("an NVL72 rack is one scale-up domain, also a partial one", "[fast]") {
  auto c = make({.node = "gb200-nvl72", .nodes = 20});
  CHECK(c->devices() == 80);
  CHECK(c->devices_per_node() == 4);
  CHECK(c->scaleup_domain_of(DeviceId{71}) == 0);
  CHECK(c->scaleup_domain_of(DeviceId{72}) == 1);
  CHECK(c->reach(DeviceId{0}, DeviceId{71}) == Reach::kScaleUp);
  CHECK(c->reach(DeviceId{0}, DeviceId{72}) == Reach::kPod);
  CHECK(c->node_of(DeviceId{72}).value == 18);
}

TEST_CASE("two GPUs share a NIC where there are half as many", "[fast]") {
  auto c = make({.name = "jean-zay-a100x2"});
  CHECK(c->rail_of(DeviceId{0}) == 0);
  CHECK(c->rail_of(DeviceId{1}) == 0);
  CHECK(c->rail_of(DeviceId{2}) == 1);
  CHECK(c->rail_of(DeviceId{7}) == 3);
  CHECK(c->rail_of(DeviceId{15}) == 3);
}

TEST_CASE("more NICs than GPUs are bundled", "[fast]") {
  auto c =
      make({.inline_json = R"({"node": {"base": "dgx-h100", "nics": {"count": 32, "gbit_per_s": 100}}, "nodes": 2})"});
  CHECK(c->rail_of(DeviceId{7}) == 7);
  CHECK(bandwidth(*c, "nic:node1/7:tx") == Approx(50e9));
}

TEST_CASE("objects: base, groups, routing", "[fast]") {
  auto mixed =
      make({.inline_json = R"({"groups": [{"node": "dgx-h100", "nodes": 3}, {"node": "dgx-a100", "nodes": 2}]})"});
  CHECK(mixed->devices() == 40);
  CHECK_FALSE(mixed->regular());
  CHECK(mixed->spec(DeviceId{23}).name == "h100-sxm");
  CHECK(mixed->spec(DeviceId{24}).name == "a100-sxm-80gb");
  CHECK(mixed->node_of(DeviceId{24}).value == 3);
  CHECK(bandwidth(*mixed, "nic:node4/7:tx") == Approx(25e9));
  CHECK_FALSE(mixed->features().nvls);

  auto meta = make({.name = "meta-24k-roce"});
  CHECK(meta->devices() == 24576);
  CHECK(meta->features().scaleout == "roce");
  // 3,072 NICs of 50 GB/s a pod, 1:7, over 16 bundles
  CHECK(bandwidth(*meta, "agg:127/uplink/0") == Approx(3072 * 50e9 / 7 / 16));
  CHECK(meta->reach(DeviceId{0}, DeviceId{15}) == Reach::kLeaf);
  CHECK(meta->reach(DeviceId{0}, DeviceId{16}) == Reach::kPod);
  CHECK(meta->reach(DeviceId{0}, DeviceId{3072}) == Reach::kCore);

  auto ecmp = make({.inline_json = R"({"node": "dgx-h100", "nodes": 64, "routing": "ecmp"})"});
  CHECK_FALSE(ecmp->regular());
  auto less = make({.inline_json = R"({"base": "eos", "nodes": 4})"});
  CHECK(less->nodes() == 4);
}
