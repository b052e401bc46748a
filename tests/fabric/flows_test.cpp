// Differential: the expanded messages against the fluid's closed form, alone and without latencies. Each message ends
// on a whole nanosecond, so a ring may end one nanosecond per step later.
#include "sim/fabric/flows.hpp"
#include <catch2/catch.hpp>
#include <cmath>
#include "sim/fabric/collective_table.hpp"
#include "tests/fabric/fake_view.hpp"

namespace twin::fabric {
namespace {

// Bytes on the busiest link over its capacity: the fluid with efficiency 1 and no cap.
double fluid_seconds(const View& v, CollectiveOp op, std::int64_t bytes, Algorithm a,
                     const std::vector<core::DeviceId>& m) {
  const auto p = lower(v, pattern_of(op, a), m);
  REQUIRE(p);
  const double n = p->geometry.ranks;
  double edge = static_cast<double>(bytes);
  if (a == Algorithm::kRing) edge *= (op == CollectiveOp::kAllReduce ? 2 : 1) * (n - 1) / n;
  edge *= static_cast<double>(p->geometry.scale) / static_cast<double>(kUnit);
  double rate = 1e300;
  for (const LinkLoad& l : p->loads)
    rate = std::min(rate, from_rate(v.capacity(l.link)) * static_cast<double>(kUnit) / static_cast<double>(l.units));
  return edge / rate;
}
double flow_seconds(const View& v, CollectiveOp op, std::int64_t bytes, const Choice& c,
                    const std::vector<core::DeviceId>& m, FlowOptions o = {}) {
  const auto r = run_flows(v, op, bytes, m, c, o);
  REQUIRE(r);
  return r->time.seconds();
}

TEST_CASE("ring inside a node: flows equal the fluid", "[fast]") {
  for (const int n : {2, 3, 8}) {
    const FakeView v({.nodes = 1, .per_node = n});
    const auto m = all_devices(v);
    const std::int64_t bytes = std::int64_t{n} << 27;
    for (const CollectiveOp op : {CollectiveOp::kAllReduce, CollectiveOp::kAllGather, CollectiveOp::kReduceScatter})
      for (const int channels : {1, 4})
        REQUIRE(flow_seconds(v, op, bytes, {Algorithm::kRing, Protocol::kSimple, channels}, m) ==
                Approx(fluid_seconds(v, op, bytes, Algorithm::kRing, m)).margin(2e-9 * n));
  }
}

TEST_CASE("ring over nodes, a channel per NIC: flows equal the fluid", "[fast]") {
  for (const int nodes : {2, 4, 8}) {
    const FakeView v({.nodes = nodes, .per_node = 4, .nics = 4});
    const auto m = all_devices(v);
    const std::int64_t bytes = std::int64_t{v.devices()} << 24;
    REQUIRE(flow_seconds(v, CollectiveOp::kAllReduce, bytes, {Algorithm::kRing, Protocol::kSimple, 4}, m) ==
            Approx(fluid_seconds(v, CollectiveOp::kAllReduce, bytes, Algorithm::kRing, m)).epsilon(0.02));
  }
}

TEST_CASE("ring over an oversubscribed spine and on shared NICs", "[fast]") {
  const FakeView v({.nodes = 8, .per_node = 2, .nics = 1, .uplink = 10e9, .pod = 2, .spines = 2});
  const auto m = all_devices(v);
  const std::int64_t bytes = std::int64_t{v.devices()} << 24;
  REQUIRE(flow_seconds(v, CollectiveOp::kAllGather, bytes, {Algorithm::kRing, Protocol::kSimple, 2}, m) ==
          Approx(fluid_seconds(v, CollectiveOp::kAllGather, bytes, Algorithm::kRing, m)).epsilon(0.02));
}

TEST_CASE("all-to-all: flows equal the fluid, also with one weak NIC", "[fast]") {
  FakeView v({.nodes = 4, .per_node = 4, .nics = 4});
  const auto m = all_devices(v);
  const std::int64_t bytes = std::int64_t{v.devices()} << 24;
  const Choice c{Algorithm::kPairwise, Protocol::kSimple, 1};
  REQUIRE(flow_seconds(v, CollectiveOp::kAllToAll, bytes, c, m) ==
          Approx(fluid_seconds(v, CollectiveOp::kAllToAll, bytes, Algorithm::kPairwise, m)).epsilon(1e-5));
  v.set_capacity(v.nic_tx(core::DeviceId{5}), to_rate(7e9));
  REQUIRE(flow_seconds(v, CollectiveOp::kAllToAll, bytes, c, m) ==
          Approx(fluid_seconds(v, CollectiveOp::kAllToAll, bytes, Algorithm::kPairwise, m)).epsilon(1e-5));
}

TEST_CASE("tree: flows end within one chunk per level of the fluid", "[fast]") {
  for (const int nodes : {2, 3, 4, 7, 16}) {
    const FakeView v({.nodes = nodes, .per_node = 1, .nics = 1});
    const auto m = all_devices(v);
    const std::int64_t bytes = 64 << 20;
    const auto run = run_flows(v, CollectiveOp::kAllReduce, bytes, m, {Algorithm::kTree, Protocol::kSimple, 1}, {});
    REQUIRE(run);
    const double fluid = fluid_seconds(v, CollectiveOp::kAllReduce, bytes, Algorithm::kTree, m);
    // A chunk takes at most 3 chunk times to cross a level: an inner node's NIC carries up to three of its flows.
    const double level = 3 * static_cast<double>(run->chunk_bytes) / 50e9;
    REQUIRE(run->time.seconds() > fluid * 0.999);
    REQUIRE(run->time.seconds() < fluid + run->depth * level);
  }
}

TEST_CASE("latency: a ring of n pays one per step", "[fast]") {
  const FakeView v({.nodes = 1});
  const auto m = all_devices(v);
  const std::int64_t bytes = 8 << 20;
  const Choice c{Algorithm::kRing, Protocol::kSimple, 1};
  const double without = flow_seconds(v, CollectiveOp::kAllGather, bytes, c, m);
  const double with = flow_seconds(v, CollectiveOp::kAllGather, bytes, c, m, {.latency_inside = core::Time::ns(5000)});
  REQUIRE(with - without == Approx(7 * 5e-6).epsilon(1e-6));
}

TEST_CASE("broadcast chain: one pass plus the fill", "[fast]") {
  const FakeView v({.nodes = 1});
  const auto m = all_devices(v);
  const Choice c{Algorithm::kRing, Protocol::kSimple, 1};
  const double t = flow_seconds(v, CollectiveOp::kBroadcast, 64 << 20, c, m, {.chunk_bytes = 1 << 20});
  REQUIRE(t == Approx((64 + 6) * 1048576.0 / 450e9).margin(71e-9));
}

TEST_CASE("messages are counted one by one", "[fast]") {
  const FakeView v({.nodes = 4});
  const auto run =
      run_flows(v, CollectiveOp::kAllReduce, 32 << 20, all_devices(v), {Algorithm::kRing, Protocol::kSimple, 2});
  REQUIRE(run);
  REQUIRE(run->messages == 2 * 32 * 2 * 31);
  const auto none =
      run_flows(v, CollectiveOp::kAllReduce, 32 << 20, all_devices(v), {Algorithm::kNvls, Protocol::kSimple, 2});
  REQUIRE_FALSE(none);
  REQUIRE(none.error().code == core::ErrorCode::kUnsupported);
}

TEST_CASE("a dead link is an error that names the pair", "[fast]") {
  FakeView v({.nodes = 2});
  v.set_capacity(v.nic_tx(core::DeviceId{7}), 0);
  const auto run =
      run_flows(v, CollectiveOp::kAllReduce, 1 << 20, all_devices(v), {Algorithm::kRing, Protocol::kSimple, 8});
  REQUIRE_FALSE(run);
  REQUIRE(run.error().message.find("device 7") != std::string::npos);
}

}  // namespace
}  // namespace twin::fabric
