// The network models with the built-in constants, latencies and caps: fluid against flows on large messages, where the
// fill (a term of the fluid only) is small.
#include "sim/fabric/network.hpp"
#include <catch2/catch.hpp>
#include "sim/fabric/referee.hpp"
#include "tests/fabric/fake_view.hpp"

namespace twin::fabric {
namespace {

double seconds(Network n, const View& v, CollectiveOp op, std::int64_t bytes, const Choice& c) {
  auto m = all_devices(v);
  if (op == CollectiveOp::kSendRecv) m = {m.front(), m.back()};
  const auto t = collective_time(n, v, op, bytes, m, c, device::Constants::builtin());
  REQUIRE(t);
  return t->seconds();
}

TEST_CASE("fluid and flows agree with latencies, efficiencies and caps", "[fast]") {
  const std::int64_t bytes = std::int64_t{8} << 30;
  for (const int nodes : {1, 4}) {
    const FakeView v({.nodes = nodes});
    for (const CollectiveOp op : {CollectiveOp::kAllReduce, CollectiveOp::kAllGather, CollectiveOp::kReduceScatter}) {
      const Choice c{Algorithm::kRing, Protocol::kSimple, 16};
      REQUIRE(seconds(Network::kFlows, v, op, bytes, c) ==
              Approx(seconds(Network::kFluid, v, op, bytes, c)).epsilon(0.02));
    }
    const Choice c{Algorithm::kPairwise, Protocol::kSimple, 16};
    REQUIRE(seconds(Network::kFlows, v, CollectiveOp::kAllToAll, bytes, c) ==
            Approx(seconds(Network::kFluid, v, CollectiveOp::kAllToAll, bytes, c)).epsilon(0.06));
    REQUIRE(seconds(Network::kFlows, v, CollectiveOp::kSendRecv, bytes, c) ==
            Approx(seconds(Network::kFluid, v, CollectiveOp::kSendRecv, bytes, c)).epsilon(1e-4));
  }
}

TEST_CASE("SimGrid agrees with flows, latencies and caps included", "[slow]") {
  if (!simgrid_available()) {
    WARN("skipped: the SimGrid module was not built (pkg-config does not find simgrid)");
    return;
  }
  const FakeView v({.nodes = 2, .per_node = 4, .nics = 4});
  for (const auto& [op, a] :
       {std::pair{CollectiveOp::kAllReduce, Algorithm::kRing}, std::pair{CollectiveOp::kAllReduce, Algorithm::kTree},
        std::pair{CollectiveOp::kAllToAll, Algorithm::kPairwise}}) {
    const Choice c{a, Protocol::kSimple, 4};
    REQUIRE(seconds(Network::kSimgrid, v, op, std::int64_t{4} << 30, c) ==
            Approx(seconds(Network::kFlows, v, op, std::int64_t{4} << 30, c)).epsilon(1e-4));
  }
}

TEST_CASE("names of network models", "[fast]") {
  REQUIRE(*parse_network("flows") == Network::kFlows);
  const auto bad = parse_network("flow");
  REQUIRE_FALSE(bad);
  REQUIRE(bad.error().hint.find("flows") != std::string::npos);
}

}  // namespace
}  // namespace twin::fabric
