// Overrides: forms of a value, units, ranges, what follows what, messages.
#include <catch2/catch.hpp>
#include <map>
#include <string>
#include "topologies/cluster.hpp"
#include "topologies/overrides.hpp"
#include "topologies/parts.hpp"

using namespace twin;
using topo::Fabric;
using topo::NodeKind;

namespace {

struct Changed {
  NodeKind node = *topo::read_node("dgx-h100", "t");
  Fabric fabric = *topo::read_fabric("leaf-spine", "t");
  std::string error, hint;
  Changed(std::initializer_list<std::pair<const std::string, std::string>> list) {
    const std::map<std::string, std::string> overrides(list);
    if (auto done = topo::apply_overrides(overrides, "cluster.override", node, fabric); !done) {
      error = done.error().where + ": " + done.error().message;
      hint = done.error().hint;
    }
  }
};

}  // namespace

TEST_CASE("forms of a value", "[fast]") {
  CHECK(Changed({{"nic.bandwidth", "x2"}}).node.nic_bytes_per_s == Approx(100e9));
  CHECK(Changed({{"nic.bandwidth", "800Gb/s"}}).node.nic_bytes_per_s == Approx(100e9));
  CHECK(Changed({{"nic.bandwidth", "100 GB/s"}}).node.nic_bytes_per_s == Approx(100e9));
  CHECK(Changed({{"nic.bandwidth", "1e11"}}).node.nic_bytes_per_s == Approx(100e9));
  CHECK(Changed({{"nic.latency", "2.5us"}}).node.nic_latency_s == Approx(2.5e-6));
  CHECK(Changed({{"gpu.hbm.capacity", "96GB"}}).node.spec.hbm_bytes == Approx(96e9));
  CHECK(Changed({{"gpu.tdp", "500W"}}).node.spec.tdp_w == 500);
  CHECK(Changed({{"gpu.sms", "x0.5"}}).node.spec.sms == 66);
  CHECK(Changed({{"nvlink.sharp", "false"}}).node.nvls == false);
  CHECK(Changed({{"gpu.peak.bf16", "1.2PFLOP/s"}}).node.spec.peak(device::Dtype::kBf16) == Approx(1200));
}

TEST_CASE("achievable rates follow nominal ones unless they are given", "[fast]") {
  const Changed twice({{"gpu.peak.bf16", "x2"}, {"gpu.hbm.bandwidth", "x2"}, {"gpu.hbm.capacity", "x2"}});
  CHECK(twice.node.spec.mamf(device::Dtype::kBf16) == Approx(2 * 794.5));
  CHECK(twice.node.spec.hbm_stream_bytes_per_s == Approx(2 * 3.18e12));
  CHECK(twice.node.spec.usable_bytes == Approx(2 * Changed({}).node.spec.usable_bytes));
  const Changed given({{"gpu.peak.bf16", "x2"}, {"gpu.mamf.bf16", "900"}});
  CHECK(given.node.spec.mamf(device::Dtype::kBf16) == Approx(900));
}

TEST_CASE("messages name field, range and the nearest name", "[fast]") {
  CHECK(Changed({{"nic.bandwith", "x2"}}).hint == "did you mean \"nic.bandwidth\"?");
  const Changed bare({{"nic.bandwidth", "400"}});
  CHECK(bare.error.find("cluster.override.nic.bandwidth") == 0);
  CHECK(bare.error.find("found \"400\"") != std::string::npos);
  CHECK(bare.hint.find("Gb/s") != std::string::npos);
  for (const char* wrong : {"", "x", "fast", "400 W", "-1GB/s", "nan", "inf", "1e300", "x-2", "x2GB/s"}) {
    INFO(wrong);
    CHECK_FALSE(Changed({{"nic.bandwidth", wrong}}).error.empty());
  }
  CHECK_FALSE(Changed({{"gpu.sms", "66.5"}}).error.empty());
}

TEST_CASE("every constant can be halved or set, and is read back", "[fast]") {
  for (const auto& row : topo::override_table()) {
    INFO(row.name);
    if (row.unit == "flag") continue;
    const bool unset = row.name.find(".mamf.fp32") != std::string::npos;
    CHECK(Changed({{row.name, unset ? "1" : std::to_string(static_cast<long>(std::max(1.0, row.min)))}}).error.empty());
  }
}

TEST_CASE("a group's override stays with the group; a fabric constant counts once", "[fast]") {
  topo::ClusterRef ref;
  ref.inline_json =
      R"({"groups": [{"node": "dgx-h100", "nodes": 2, "override": {"gpu.tdp": 500}}, {"node": "dgx-h100", "nodes": 2}],
                        "override": {"leaf.oversubscription": "x2", "nic.bandwidth": "x2"}, "fabric": {"base": "leaf-spine", "nodes_per_leaf": 2}})";
  auto c = topo::build_cluster(ref);
  if (!c) FAIL(c.error().text());
  CHECK((*c)->spec(core::DeviceId{0}).tdp_w == 500);
  CHECK((*c)->spec(core::DeviceId{31}).tdp_w == 700);
  for (int i = 0; i < (*c)->links(); ++i) {
    const auto name = (*c)->link_name(core::LinkId{i});
    const double rate = fabric::from_rate((*c)->capacity(core::LinkId{i}));
    if (name.starts_with("nic:")) CHECK(rate == Approx(100e9));
    if (name.starts_with("leaf:")) CHECK(rate == Approx(16 * 100e9 / 2 / 16));
  }
  ref.inline_json = R"({"groups": [{"node": "dgx-h100", "nodes": 2, "override": {"leaf.nodes": 4}}]})";
  CHECK_FALSE(topo::build_cluster(ref));
}
