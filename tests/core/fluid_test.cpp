// Closed forms, each with its derivation. Capacities are in byte/ns, so C * 2^32 in the solver's unit.
#include "sim/core/fluid.hpp"
#include <catch2/catch.hpp>

using namespace twin::core;

namespace {
constexpr std::int64_t kUnit = std::int64_t{1} << 32;  // 1 byte/ns
using Uses = std::vector<std::pair<std::int32_t, std::int64_t>>;

// Runs all activities from `begin` on to their ends; finish[a] in ns.
std::vector<std::int64_t> run(Fluid& fluid, Time now) {
  std::vector<std::int64_t> finish(fluid.activities(), -1);
  while (true) {
    fluid.solve(now);
    CHECK(fluid.verify() == 0);
    Time next = Time::never();
    for (std::int32_t a = 0; a < static_cast<std::int32_t>(fluid.activities()); ++a)
      next = std::min(next, fluid.finish(a));
    if (next.is_never()) return finish;
    now = next;
    for (std::int32_t a = 0; a < static_cast<std::int32_t>(fluid.activities()); ++a)
      if (fluid.finish(a) == now) {
        CHECK(fluid.remaining(a, now) == 0);
        finish[static_cast<std::size_t>(a)] = now.count();
        fluid.end(a);
      }
  }
}
}  // namespace

TEST_CASE("a transfer alone takes bytes over the tightest of its links and its cap", "[fast]") {
  FluidStructure s;
  s.capacity = {50 * kUnit, 20 * kUnit};
  s.add(1, {{0, kWeightOne}, {1, kWeightOne}});      // min(50, 20) = 20 byte/ns
  s.add(1, {{0, kWeightOne}, {1, kWeightOne / 4}});  // min(50, 20 / (1/4)) = 50
  s.add(4, {{0, kWeightOne}});                       // phi only weighs against others: 50
  Fluid fluid(s);
  const auto alone = [&](std::int32_t a, std::int64_t bytes, std::int64_t cap) {
    fluid.start(a, Time::ns(100), bytes, cap);
    fluid.solve(Time::ns(100));
    CHECK(fluid.verify() == 0);
    const std::int64_t took = fluid.finish(a).count() - 100;
    fluid.end(a);
    fluid.solve(Time::ns(100));
    return took;
  };
  CHECK(alone(0, 1000, kUncapped) == 50);
  CHECK(alone(0, 1001, kUncapped) == 51);  // ceil(1001 / 20)
  CHECK(alone(1, 1000, kUncapped) == 20);
  CHECK(alone(2, 1000, kUncapped) == 20);
  CHECK(alone(0, 1000, 10 * kUnit) == 100);
  CHECK(alone(0, 0, kUncapped) == 0);
}

TEST_CASE("two transfers share a NIC, then the longer has it alone", "[fast]") {
  // C = 40. Both at 20 until A's 1000 bytes are done at 50; B has 3000 - 1000 = 2000 left at 40: 50 more.
  FluidStructure s;
  s.capacity = {40 * kUnit};
  s.add(1, {{0, kWeightOne}});
  s.add(1, {{0, kWeightOne}});
  Fluid fluid(s);
  fluid.start(0, Time::zero(), 1000);
  fluid.start(1, Time::zero(), 3000);
  CHECK(run(fluid, Time::zero()) == std::vector<std::int64_t>{50, 100});
  // phi 3 against 1: 30 and 10. A's 3000 bytes end at 100; B has 3000 - 1000 = 2000 left at 40: 50 more.
  s.phi = {3, 1};
  Fluid weighted(s);
  weighted.start(0, Time::zero(), 3000);
  weighted.start(1, Time::zero(), 3000);
  CHECK(run(weighted, Time::zero()) == std::vector<std::int64_t>{100, 150});
}

TEST_CASE("incast: n senders into one receiver share its NIC; what they leave elsewhere is taken", "[fast]") {
  // n = 10 senders of 40 each into a receiver of 40: 4 each. Sender 0 also feeds a second receiver: 40 - 4 = 36 there.
  FluidStructure s;
  s.capacity.assign(12, 40 * kUnit);  // 0..9 senders, 10 and 11 receivers
  for (std::int32_t i = 0; i < 10; ++i) s.add(1, {{i, kWeightOne}, {10, kWeightOne}});
  const std::int32_t other = s.add(1, {{0, kWeightOne}, {11, kWeightOne}});
  Fluid fluid(s);
  for (std::int32_t i = 0; i <= other; ++i) fluid.start(i, Time::zero(), 1 << 20);
  fluid.solve(Time::zero());
  CHECK(fluid.verify() == 0);
  for (std::int32_t i = 0; i < 10; ++i) CHECK(fluid.rate(i) == 4 * kUnit);
  CHECK(fluid.rate(other) == 36 * kUnit);
}

TEST_CASE("two levels: an oversubscribed uplink binds before the NICs", "[fast]") {
  // 4 NICs of 50 behind an uplink of 80: 20 each. With one flow capped at 5 the others get (80 - 5) / 3 = 25.
  FluidStructure s;
  s.capacity = {50 * kUnit, 50 * kUnit, 50 * kUnit, 50 * kUnit, 80 * kUnit};
  for (std::int32_t i = 0; i < 4; ++i) s.add(1, {{i, kWeightOne}, {4, kWeightOne}});
  Fluid fluid(s);
  for (std::int32_t i = 0; i < 4; ++i) fluid.start(i, Time::zero(), 1 << 20);
  fluid.solve(Time::zero());
  for (std::int32_t i = 0; i < 4; ++i) CHECK(fluid.rate(i) == 20 * kUnit);
  fluid.set_cap(3, 5 * kUnit);
  CHECK(fluid.solve(Time::ns(10)).size() == 4);
  for (std::int32_t i = 0; i < 3; ++i) CHECK(fluid.rate(i) == 25 * kUnit);
  CHECK(fluid.rate(3) == 5 * kUnit);
  CHECK(fluid.verify() == 0);
}

TEST_CASE("the header's example: plain and as a quotient", "[fast]") {
  FluidStructure s;
  s.capacity = {10 * kUnit, 4 * kUnit};
  s.add(1, {{0, kWeightOne}});
  s.add(1, {{0, kWeightOne}, {1, kWeightOne}});
  Fluid plain(s);
  plain.start(0, Time::zero(), 100);
  plain.start(1, Time::zero(), 100);
  plain.solve(Time::zero());
  CHECK(plain.rate(0) == 6 * kUnit);
  CHECK(plain.rate(1) == 4 * kUnit);
  s.weight[0] = 3 * kWeightOne;
  Fluid folded(s);
  folded.start(0, Time::zero(), 100);
  folded.start(1, Time::zero(), 100);
  folded.solve(Time::zero());
  CHECK(folded.rate(0) == 5 * kUnit / 2);
  CHECK(folded.rate(1) == 5 * kUnit / 2);
}

TEST_CASE("a dead link stalls its activities, takes nothing elsewhere, and resumes", "[fast]") {
  // A crosses X and Y, B only X; C(X) = 10. Y dead: B alone, 10. Y back with 2 at t = 100: A 2, B 8.
  FluidStructure s;
  s.capacity = {10 * kUnit, 0};
  s.add(1, {{0, kWeightOne}, {1, kWeightOne}});
  s.add(1, {{0, kWeightOne}});
  Fluid fluid(s);
  fluid.start(0, Time::zero(), 1000);
  fluid.start(1, Time::zero(), 4000);
  fluid.solve(Time::zero());
  CHECK(fluid.rate(0) == 0);
  CHECK(fluid.finish(0).is_never());
  CHECK(fluid.rate(1) == 10 * kUnit);
  CHECK(fluid.verify() == 0);
  fluid.set_capacity(1, 2 * kUnit);
  CHECK(run(fluid, Time::ns(100)) == std::vector<std::int64_t>{600, 475});  // 3000 left at 8: 375; 1000 at 2: 500
}

TEST_CASE("solve reports what changed and leaves other components alone", "[fast]") {
  FluidStructure s;
  s.capacity = {10 * kUnit, 10 * kUnit};
  for (std::int32_t i = 0; i < 4; ++i) s.add(1, {{i / 2, kWeightOne}});
  Fluid fluid(s);
  fluid.start(0, Time::zero(), 100);
  fluid.start(2, Time::zero(), 100);
  CHECK(fluid.solve(Time::zero()) == std::vector<std::int32_t>{0, 2});
  CHECK(fluid.solves() == 2);
  CHECK(!fluid.dirty());
  fluid.start(3, Time::ns(5), 100);
  const auto version = fluid.version(0);
  CHECK(fluid.solve(Time::ns(5)) == std::vector<std::int32_t>{3, 2});
  CHECK(fluid.version(0) == version);
  CHECK(fluid.finish(0) == Time::ns(10));
  CHECK(fluid.finish(2) == Time::ns(15));  // 50 done, 50 left at 5
  fluid.end(0);                            // nobody else there: nothing to solve
  CHECK(!fluid.dirty());
  fluid.reset();
  CHECK(!fluid.dirty());
  CHECK(!fluid.active(3));
}

TEST_CASE("rates that round to nothing still move", "[fast]") {
  FluidStructure s;
  s.capacity = {2};  // 2^-31 byte/ns for five
  for (int i = 0; i < 5; ++i) s.add(1, {{0, kWeightOne}});
  Fluid fluid(s);
  for (std::int32_t i = 0; i < 5; ++i) fluid.start(i, Time::zero(), 1);
  fluid.solve(Time::zero());
  for (std::int32_t i = 0; i < 5; ++i) CHECK(fluid.rate(i) == 1);
  CHECK(fluid.finish(0) == Time::ns(kUnit));
  CHECK(fluid.verify() == 0);
}

TEST_CASE("units convert", "[fast]") {
  CHECK(fluid_rate(50e9) == 50 * kUnit);
  CHECK(fluid_bytes_per_s(fluid_rate(50e9)) == Approx(50e9).epsilon(1e-12));
  CHECK(fluid_rate(1e300) == kUncapped);
  CHECK(fluid_rate(-1) == 0);
  CHECK(fluid_weight(0.5) == kWeightOne / 2);
}
