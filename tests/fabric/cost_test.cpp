// Closed forms of cost(), and what the tuner is known to choose.
#include <catch2/catch.hpp>
#include <cmath>
#include "sim/fabric/collective.hpp"
#include "tests/fabric/fake_view.hpp"

namespace twin::fabric {
namespace {

const device::Constants& constants() { return device::Constants::builtin(); }

double seconds(const View& v, CollectiveOp op, std::int64_t bytes, const Choice& choice,
               const std::vector<core::DeviceId>& m) {
  const auto p = lower(v, choice.algorithm, m);
  REQUIRE(p);
  const Cost c = cost(v, op, bytes, choice, p->geometry, constants());
  double rate = from_rate(c.rate_cap);
  for (const LinkLoad& l : p->loads)
    rate = std::min(rate, from_rate(v.capacity(l.link)) * static_cast<double>(kUnit) / static_cast<double>(l.units));
  return c.latency.seconds() + static_cast<double>(c.busiest_bytes) / rate;
}

Choice chosen(const View& v, CollectiveOp op, std::int64_t bytes, Algorithm lowered_as = Algorithm::kRing) {
  const auto m = all_devices(v);
  const auto p = lower(v, lowered_as, m);
  REQUIRE(p);
  return choose(v, op, bytes, p->geometry, constants());
}

TEST_CASE("ring all-reduce alone: latency + 2 (n-1)/n S / (B x efficiency)", "[fast]") {
  const FakeView v({.nodes = 1});
  const std::int64_t s = std::int64_t{1} << 30;
  const Choice ring{Algorithm::kRing, Protocol::kSimple, 16};
  const auto p = lower(v, Algorithm::kRing, all_devices(v));
  REQUIRE(p);
  const Cost c = cost(v, CollectiveOp::kAllReduce, s, ring, p->geometry, constants());
  const double eff = constants().get("nvlink.hopper.efficiency");
  REQUIRE(static_cast<double>(c.busiest_bytes) == Approx(2 * 7.0 / 8 * static_cast<double>(s) / eff).epsilon(1e-5));
  REQUIRE(c.latency > core::Time::zero());
}

TEST_CASE("busbw never exceeds the wire", "[fast]") {
  for (const int nodes : {1, 2, 4, 16})
    for (const std::string family : {"volta", "ampere", "hopper", "blackwell", "cdna3"})
      for (const CollectiveOp op : {CollectiveOp::kAllReduce, CollectiveOp::kAllGather, CollectiveOp::kReduceScatter,
                                    CollectiveOp::kAllToAll}) {
        const FakeView v({.nodes = nodes, .family = family});
        const auto m = all_devices(v);
        const double wire = nodes == 1 ? 450e9 : 400e9;  // ring busbw: NVLink, or the eight NICs of a node
        for (std::int64_t b = 1024; b <= (std::int64_t{16} << 30); b *= 4) {
          if (op == CollectiveOp::kAllToAll) continue;
          const Choice ring{Algorithm::kRing, Protocol::kSimple, 64};
          const double bus = static_cast<double>(b) / seconds(v, op, b, ring, m) * busbw_factor(op, v.devices());
          REQUIRE(bus < wire);
        }
      }
}

TEST_CASE("time grows with bytes for a fixed choice", "[prop][fast]") {
  for (const int nodes : {1, 2, 8}) {
    const FakeView v({.nodes = nodes, .nvls = true});
    const auto m = all_devices(v);
    for (const Algorithm a : {Algorithm::kRing, Algorithm::kTree, Algorithm::kNvls, Algorithm::kPairwise})
      for (const Protocol p : {Protocol::kLl, Protocol::kLl128, Protocol::kSimple}) {
        double last = 0;
        for (std::int64_t b = 8; b < (std::int64_t{1} << 34); b = b * 3 / 2) {
          const double t = seconds(v, a == Algorithm::kPairwise ? CollectiveOp::kAllToAll : CollectiveOp::kAllReduce, b,
                                   {a, p, 16}, m);
          REQUIRE(t >= last);
          last = t;
        }
      }
  }
}

TEST_CASE("what NCCL is known to choose", "[fast]") {
  const FakeView h100({.nodes = 1, .nvls = true});
  REQUIRE(chosen(h100, CollectiveOp::kAllReduce, std::int64_t{1} << 30).algorithm == Algorithm::kNvls);
  REQUIRE(chosen(h100, CollectiveOp::kAllReduce, 1024).protocol == Protocol::kLl);
  const FakeView a100({.nodes = 1, .nvlink = 300e9, .nic = 25e9, .family = "ampere"});
  REQUIRE(chosen(a100, CollectiveOp::kAllReduce, std::int64_t{1} << 30).algorithm == Algorithm::kRing);
  REQUIRE(chosen(a100, CollectiveOp::kAllReduce, std::int64_t{1} << 30).protocol == Protocol::kSimple);
  const FakeView many({.nodes = 64, .nvlink = 300e9, .nic = 25e9, .family = "ampere"});
  REQUIRE(chosen(many, CollectiveOp::kAllReduce, 4096).algorithm == Algorithm::kTree);
  REQUIRE(chosen(many, CollectiveOp::kAllGather, std::int64_t{1} << 30).algorithm == Algorithm::kRing);
  const FakeView mi({.nodes = 1, .family = "cdna3", .nvls = true});
  REQUIRE(chosen(mi, CollectiveOp::kAllReduce, std::int64_t{1} << 30).algorithm != Algorithm::kNvls);
  const FakeView h64({.nodes = 64, .nvls = true});
  REQUIRE(chosen(h64, CollectiveOp::kAllReduce, std::int64_t{1} << 30).algorithm == Algorithm::kNvlsTree);
  const FakeView sharp({.nodes = 64, .nvls = true, .sharp = true});
  REQUIRE(chosen(sharp, CollectiveOp::kAllReduce, std::int64_t{1} << 30).algorithm == Algorithm::kSharp);
  const FakeView plain({.nodes = 64});
  for (std::int64_t b = 8; b < (std::int64_t{1} << 33); b *= 2) {
    const Algorithm a = chosen(plain, CollectiveOp::kAllReduce, b).algorithm;
    REQUIRE((a == Algorithm::kRing || a == Algorithm::kTree));
  }
}

TEST_CASE("an all-to-all of two is an exchange, a message is not", "[fast]") {
  const FakeView v({.nodes = 2, .per_node = 1, .nics = 1});
  REQUIRE(chosen(v, CollectiveOp::kAllToAll, 1 << 20).algorithm == Algorithm::kExchange);
  REQUIRE(chosen(v, CollectiveOp::kSendRecv, 1 << 20).algorithm == Algorithm::kPairwise);
}

}  // namespace
}  // namespace twin::fabric
