// Differential: the same flows and faults on our solver and on SimGrid's, finish times equal to 1e-9. Durations are 10
// to 10,000 s, so that our whole nanoseconds and SimGrid's merging of events within 1 ns stay far below the bound.
#include <catch2/catch.hpp>
#include <cmath>
#include <random>
#include "sim/fabric/referee.hpp"
#include "tests/fabric/fake_view.hpp"

namespace twin::fabric {
namespace {

bool skip() {
  if (simgrid_available()) return false;
  WARN("skipped: the SimGrid module was not built (pkg-config does not find simgrid)");
  return true;
}

// A small cluster's flows: random pairs over NICs, and a shared uplink per half; some wait for others; faults if asked.
FlowProblem random_problem(std::mt19937_64& gen, bool faults) {
  const auto pick = [&](std::uint64_t n) { return static_cast<std::int32_t>(gen() % n); };
  FlowProblem p;
  const int nics = 4 + pick(13);
  for (int i = 0; i < 2 * nics; ++i) p.capacity.push_back(to_rate(25e9 + 1e9 * pick(26)));
  const int up = 2 * nics;
  for (int i = 0; i < 4; ++i) p.capacity.push_back(to_rate(20e9 + 10e9 * pick(20)));
  const int flows = 5 + pick(60);
  for (int i = 0; i < flows; ++i) {
    FlowProblem::Flow f;
    const int a = pick(static_cast<std::uint64_t>(nics)),
              b = (a + 1 + pick(static_cast<std::uint64_t>(nics - 1))) % nics;
    f.links = {2 * a, 2 * b + 1};
    const bool left = a < nics / 2;
    if (left != (b < nics / 2)) f.links.insert(f.links.begin() + 1, {up + (left ? 0 : 2), up + (left ? 3 : 1)});
    f.bytes = (std::int64_t{1} + pick(1000)) * 1000000000 * (1 + pick(9));
    f.start = core::Time::ns(std::int64_t{pick(1000)} * 10000000);
    if (i > 3 && pick(3) == 0) f.after = pick(static_cast<std::uint64_t>(i));
    if (pick(4) == 0) f.cap = to_rate(1e9 * (1 + pick(40)));
    p.flows.push_back(f);
  }
  for (int i = 0; faults && i < 6; ++i) {
    const int link = pick(p.capacity.size());
    p.changes.push_back({core::Time::ns(std::int64_t{1 + pick(2000)} * 50000000 + 7), link,
                         pick(3) == 0 ? 0 : to_rate(1e9 * (5 + pick(60)))});
  }
  return p;
}

struct Difference {
  double worst = 0;
  int failed = 0, finished = 0;
};
Difference compare(const FlowProblem& p) {
  const auto ours = solve_fluid(p);
  const auto theirs = solve_simgrid(p);
  REQUIRE(theirs);
  Difference d;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    REQUIRE(ours[i].failed == (*theirs)[i].failed);
    REQUIRE((ours[i].time_s < 0) == ((*theirs)[i].time_s < 0));
    if (ours[i].time_s < 0) continue;
    ++(ours[i].failed ? d.failed : d.finished);
    d.worst = std::max(d.worst, std::fabs(ours[i].time_s - (*theirs)[i].time_s) / std::max(1.0, ours[i].time_s));
    if (ours[i].failed)
      REQUIRE(ours[i].remaining_bytes == Approx((*theirs)[i].remaining_bytes).epsilon(1e-9).margin(100));
  }
  return d;
}

TEST_CASE("fluid equals SimGrid on random flows", "[slow]") {
  if (skip()) return;
  std::mt19937_64 gen(7);
  double worst = 0;
  int finished = 0;
  for (int trial = 0; trial < 100; ++trial) {
    const Difference d = compare(random_problem(gen, false));
    worst = std::max(worst, d.worst);
    finished += d.finished;
  }
  CHECK(worst < 1e-9);
  CHECK(finished > 2000);
}

TEST_CASE("fluid equals SimGrid under capacity changes and dead links", "[slow]") {
  if (skip()) return;
  std::mt19937_64 gen(11);
  double worst = 0;
  int failed = 0;
  for (int trial = 0; trial < 100; ++trial) {
    const Difference d = compare(random_problem(gen, true));
    worst = std::max(worst, d.worst);
    failed += d.failed;
  }
  CHECK(worst < 1e-9);
  CHECK(failed > 50);
}

TEST_CASE("expanded collectives end at the same time on both", "[slow]") {
  if (skip()) return;
  FakeView v({.nodes = 4, .per_node = 4, .nics = 2});
  v.set_capacity(v.nic_tx(core::DeviceId{5}), to_rate(17e9));
  const auto m = all_devices(v);
  const FlowOptions o{.latency_inside = core::Time::ns(1500),
                      .latency_between = core::Time::ns(9000),
                      .rate_cap = to_rate(60e9),
                      .chunk_bytes = std::int64_t{1} << 34};
  for (const auto& [op, a] :
       {std::pair{CollectiveOp::kAllReduce, Algorithm::kRing}, std::pair{CollectiveOp::kAllReduce, Algorithm::kTree},
        std::pair{CollectiveOp::kAllToAll, Algorithm::kPairwise}}) {
    const Choice c{a, Protocol::kSimple, 2};
    const auto ours = run_flows(v, op, std::int64_t{1} << 40, m, c, o);
    const auto theirs = run_flows_simgrid(v, op, std::int64_t{1} << 40, m, c, o);
    REQUIRE(ours);
    REQUIRE(theirs);
    CHECK(ours->messages == theirs->messages);
    CHECK(ours->time.seconds() == Approx(theirs->time.seconds()).epsilon(1e-8));
  }
}

TEST_CASE("SimGrid refuses split routes and says what to do", "[slow]") {
  const FakeView v({.nodes = 4, .uplink = 100e9, .pod = 2, .spines = 4});
  const auto run =
      run_flows_simgrid(v, CollectiveOp::kAllReduce, 1 << 20, all_devices(v), {Algorithm::kRing, Protocol::kSimple, 8});
  REQUIRE_FALSE(run);
  REQUIRE(run.error().hint.find("ecmp") != std::string::npos);
}

}  // namespace
}  // namespace twin::fabric
