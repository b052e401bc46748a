// Link faults: selectors, multiplication, detours, messages.
#include <catch2/catch.hpp>
#include <set>
#include "topologies/cluster.hpp"

using namespace twin;
using core::DeviceId;
using core::LinkId;
using topo::build_cluster;
using topo::LinkFault;

namespace {

using Loads = std::vector<fabric::LinkLoad>;

std::unique_ptr<topo::Cluster> make(const std::vector<LinkFault>& faults, const std::string& extra = "") {
  topo::ClusterRef ref;
  ref.inline_json = "{\"node\": \"dgx-h100\", \"nodes\": 64" + extra + "}";
  auto c = build_cluster(ref, faults);
  if (!c) FAIL(c.error().text());
  return std::move(*c);
}

std::set<std::string> degraded(const topo::Cluster& c) {
  auto whole = make({});
  std::set<std::string> names;
  for (int i = 0; i < c.links(); ++i)
    if (c.capacity(LinkId{i}) != whole->capacity(LinkId{i})) names.insert(c.link_name(LinkId{i}));
  return names;
}

std::string message(const std::vector<LinkFault>& faults) {
  auto c = build_cluster({.name = "dgx-h100x64"}, faults);
  REQUIRE_FALSE(c);
  return c.error().text();
}

}  // namespace

TEST_CASE("selectors hit both directions of what they name", "[fast]") {
  using Names = std::set<std::string>;
  CHECK(degraded(*make({{"nic:node17/3", 0.5}})) == Names{"nic:node17/3:tx", "nic:node17/3:rx"});
  CHECK(degraded(*make({{"nvlink:node17/3", 0.5}})) == Names{"nvlink:node17/3:out", "nvlink:node17/3:in"});
  CHECK(degraded(*make({{"leaf:4/uplink/2", 0.5}})) == Names{"leaf:4/uplink/2", "leaf:4/downlink/2"});
  CHECK(degraded(*make({{"nic:node17/*", 0.5}})).size() == 16);
  CHECK(degraded(*make({{"nic:*/3", 0.5}})).size() == 128);
  CHECK(degraded(*make({{"nic:node*/3", 0.5}})).size() == 128);
  CHECK(degraded(*make({{"leaf:*/uplink/2", 0.5}})).size() == 32);
  CHECK(degraded(*make({{"leaf:4/*", 0.5}})).size() == 32);
  CHECK(degraded(*make({{"*", 0.5}})).size() == static_cast<std::size_t>(make({})->links()));
  CHECK_FALSE(make({{"nic:node17/3", 0.5}})->regular());
  CHECK(make({{"nic:node17/3", 1.0}})->regular());  // nothing changed
}

TEST_CASE("overlapping matches multiply in any order to the same integer", "[fast]") {
  const std::vector<LinkFault> faults = {{"nic:*/3", 0.7}, {"nic:node17/*", 0.3}, {"nic:node17/3", 0.9}};
  const std::vector<LinkFault> reversed(faults.rbegin(), faults.rend());
  auto a = make(faults), b = make(reversed);
  for (int i = 0; i < a->links(); ++i) {
    CHECK(a->capacity(LinkId{i}) == b->capacity(LinkId{i}));
    if (a->link_name(LinkId{i}) == "nic:node17/3:tx")
      CHECK(fabric::from_rate(a->capacity(LinkId{i})) == Approx(50e9 * 0.7 * 0.3 * 0.9));
  }
}

TEST_CASE("dead uplinks are routed around", "[fast]") {
  auto c = make({{"leaf:0/uplink/*", 0}});
  Loads out;
  CHECK_FALSE(c->route(DeviceId{0}, DeviceId{256}, fabric::kUnit, out));  // rail 0 of pod 0 is cut off
  CHECK(out.empty());
  CHECK(c->route(DeviceId{0}, DeviceId{8}, fabric::kUnit, out));  // below the leaf it is not
  CHECK(c->route(DeviceId{1}, DeviceId{257}, fabric::kUnit, out));
  // Half of the spines of one leaf and another half of the next: only what both have alive carries.
  auto half = make({{"leaf:0/uplink/0", 0}, {"leaf:0/uplink/1", 0}, {"leaf:8/uplink/1", 0}, {"leaf:8/uplink/2", 0}},
                   ", \"keep_unbindable\": true");
  out.clear();
  REQUIRE(half->route(DeviceId{0}, DeviceId{256}, 13 * 1000, out));
  REQUIRE(out.size() == 2 + 2 * 13);
  for (const auto& l : out) {
    CHECK(half->capacity(l.link) > 0);
    if (half->link_name(l.link).starts_with("leaf")) CHECK(l.units == 1000);
  }
}

TEST_CASE("dead links of a three-tier fabric are routed around", "[fast]") {
  const std::string fabric =
      R"(, "keep_unbindable": true, "fabric": {"base": "fat-tree-3", "nodes_per_leaf": 4, "leaf_groups_per_pod": 2, "spines": 4, "cores_per_spine": 4})";
  for (const char* routing : {"", ", \"routing\": \"ecmp\""}) {
    auto c = make({{"agg:0/uplink/*", 0}, {"agg:1/uplink/3", 0}, {"leaf:0/uplink/2", 0}}, fabric + routing);
    for (int b = 64; b < 512; b += 8) {
      Loads out;
      REQUIRE(c->route(DeviceId{0}, DeviceId{b}, 2 * 3 * 4 * 1000, out));
      std::int64_t core = 0;
      for (const auto& l : out) {
        CHECK(c->capacity(l.link) > 0);
        if (c->link_name(l.link).starts_with("agg") && c->link_name(l.link).find("uplink") != std::string::npos)
          core += l.units;
      }
      CHECK(core == 2 * 3 * 4 * 1000);
    }
    Loads out;
    auto cut = make({{"agg:0/uplink/*", 0}, {"agg:1/uplink/*", 0}, {"agg:2/uplink/*", 0}, {"agg:3/uplink/*", 0}},
                    fabric + routing);
    CHECK_FALSE(cut->route(DeviceId{0}, DeviceId{64}, 1000, out));
    CHECK(cut->route(DeviceId{0}, DeviceId{32}, 1000, out));
  }
}

TEST_CASE("a dead NIC sends over the node's next one", "[fast]") {
  auto c = make({{"nic:node0/3", 0}});
  CHECK(c->rail_of(DeviceId{3}) == 4);
  CHECK(c->rail_of(DeviceId{4}) == 4);
  Loads out;
  REQUIRE(c->route(DeviceId{3}, DeviceId{11}, fabric::kUnit, out));
  CHECK(c->link_name(out.front().link) == "nic:node0/4:tx");
  auto none = make({{"nic:node0/*", 0}});
  CHECK_FALSE(none->route(DeviceId{3}, DeviceId{11}, fabric::kUnit, out));
  CHECK(none->route(DeviceId{3}, DeviceId{4}, fabric::kUnit, out));
}

TEST_CASE("a selector that matches nothing says what would", "[fast]") {
  CHECK(message({{"nic:node64/3", 0.5}}).find("valid: nic:node0..63/0..7") != std::string::npos);
  CHECK(message({{"nic:node0/8", 0.5}}).find("valid: nic:node0..63/0..7") != std::string::npos);
  CHECK(message({{"leaf:16/uplink/0", 0.5}}).find("valid: leaf:0..15/uplink/0..15") != std::string::npos);
  CHECK(message({{"agg:0/uplink/0", 0.5}}).find("no agg links") != std::string::npos);
  CHECK(message({{"nvlnk:node0/0", 0.5}}).find("nvlink") != std::string::npos);
  CHECK(message({{"nic:node0/0", 1.5}}).find("0..1") != std::string::npos);
  for (const char* wrong : {"", "nic", "nic:", "nic:nodex/1", "nic:node1/2/3", "leaf:0/sideways/1", "leaf:0/uplink/-1",
                            "nic:node99999999999/0"}) {
    INFO(wrong);
    CHECK_FALSE(build_cluster({.name = "dgx-h100x64"}, {{wrong, 0.5}}));
  }
}
