// The executor against closed forms (derivation at each case), and its errors.
#include <catch2/catch.hpp>
#include "tests/step/executor_world.hpp"
#include "tests/step/fold_case.hpp"

using namespace twin::step;
using namespace twin::step::test;
using Catch::Contains;

TEST_CASE("a pipeline's bubble is (p-1)/m of the ideal time", "[step][executor][fast]") {
  // 1F1B, all stages equal, messages free: m (tf + tb) of work per stage, and p-1 forward and backward slots of fill
  // and drain. Each layer is attention + mlp, backward twice as long.
  for (const int p : {1, 2, 4, 8})
    for (const int m : {8, 12, 32}) {
      Config config{.pp = p, .micro = m};
      config.attention_ns = 1000;
      config.mlp_ns = 2000;
      config.optimizer_ns = 0;
      config.world_reduce = false;
      config.latency_ns = 0;
      config.pp_bytes = 0;
      const auto c = build(config);
      const auto t = execute(c.system, c.cost, c.options);
      REQUIRE(t);
      CHECK(t->end.count() == (m + p - 1) * 9000);
    }
}

TEST_CASE("interleaving divides the bubble by the chunks", "[step][executor][fast]") {
  // v chunks of 1/v of the work: fill and drain take p-1 slots of a chunk's forward and backward: (m + (p-1)/v) (tf +
  // tb).
  for (const int p : {2, 4}) {
    Config config{.pp = p, .vpp = 2, .micro = 4 * p};
    config.attention_ns = 1000;
    config.mlp_ns = 2000;
    config.optimizer_ns = 0;
    config.world_reduce = false;
    config.latency_ns = 0;
    config.pp_bytes = 0;
    const auto c = build(config);
    const auto t = execute(c.system, c.cost, c.options);
    REQUIRE(t);
    CHECK(t->end.count() == (4 * p * 2 + p - 1) * 9000);
  }
}

TEST_CASE("two messages share a NIC, and the longer one speeds up when the other ends", "[step][executor][fast]") {
  // 10 B/ns. Both at 5: the first moves 1,000 in 200 ns; the second has 2,000 of 3,000 left, at 10: 200 more.
  World w(4);
  w.kind("p2p", true);
  const auto nic = w.link(10);
  w.group(0, {0, 1}, {{nic, kOne}});
  w.group(0, {2, 3}, {{nic, kOne}});
  for (std::size_t r = 0; r < 4; ++r) w.comm(r, {.role = static_cast<int>(r % 2), .bytes = r < 2 ? 1000 : 3000});
  const auto t = w.run(50);
  REQUIRE(t);
  CHECK(finish(*t, 0, 0) == 250);
  CHECK(finish(*t, 1, 0) == 250);
  CHECK(finish(*t, 2, 0) == 450);
  CHECK(t->link_busy_bytes == std::vector<std::int64_t>{4000});
}

TEST_CASE("a posted collective slows compute while it waits and while it moves", "[step][executor][fast]") {
  // Rank 0: compute of 1,000 ns; its collective (hold 1: compute at 50 %) is posted at 200 on another stream, starts
  // when rank 1 posts at 600, has 10 ns latency and 100 bytes at 1 B/ns: ends at 710. Work done by then: 200 + 510 / 2
  // = 455; the other 545 at full speed: 1,255.
  World w(2);
  w.kind("tp", false);
  const auto l = w.link(1);
  w.group(0, {0, 1}, {{l, kOne}});
  const auto wait0 = w.compute(0, {.ns = 200, .stream = Stream::kHost});
  const auto wait1 = w.compute(1, {.ns = 600, .stream = Stream::kHost});
  const auto work = w.compute(0, {.ns = 1000, .rates = {100, 50}});
  const auto c0 = w.comm(0, {.bytes = 100, .hold = 1}, {wait0});
  w.comm(1, {.bytes = 100, .hold = 1}, {wait1});
  const auto t = w.run(10);
  REQUIRE(t);
  CHECK(posted(*t, 0, c0) == 200);
  CHECK(start(*t, 0, c0) == 600);
  CHECK(finish(*t, 0, c0) == 710);
  CHECK(finish(*t, 0, work) == 1255);
}

TEST_CASE("holds add up, and the level saturates", "[step][executor][fast]") {
  // Two collectives of one rank hold 3 and 9 units from 0: level min(12, 7) until the first ends at 100, then 7 until
  // 200.
  World w(2);
  w.kind("a", false);
  w.kind("b", false);
  const auto la = w.link(1), lb = w.link(1);
  w.group(0, {0, 1}, {{la, kOne}});
  w.group(1, {0, 1}, {{lb, kOne}});
  for (std::size_t r = 0; r < 2; ++r) {
    w.comm(r, {.kind = 0, .bytes = 100, .stream = Stream::kTp, .hold = 3});
    w.comm(r, {.kind = 1, .bytes = 200, .stream = Stream::kDpGrad, .hold = 9});
  }
  const auto work = w.compute(0, {.ns = 1000, .rates = {100, 90, 80, 70, 60, 50, 40, 25}});
  const auto t = w.run();
  REQUIRE(t);
  CHECK(finish(*t, 0, work) == 200 + 950);  // 50 of 1,000 done in the first 200
}

TEST_CASE("an op waits for the host, and a sync restarts the host's clock", "[step][executor][fast]") {
  World w(1);
  const auto a = w.compute(0, {.ns = 100, .host_issue_ns = 40});
  const auto b = w.compute(0, {.ns = 100, .host_issue_ns = 50});
  const auto late = w.compute(0, {.ns = 10, .host_issue_ns = 1000});
  const auto after = w.compute(0, {.ns = 10, .host_issue_ns = 300, .host_sync = b});
  const auto t = w.run();
  REQUIRE(t);
  CHECK(start(*t, 0, a) == 40);
  CHECK(start(*t, 0, b) == 140);  // issued long before
  CHECK(start(*t, 0, late) == 1000);
  CHECK(posted(*t, 0, late) == 240);
  CHECK(start(*t, 0, after) == 1010);  // issued at 240 + 300, stream free at 1010
}

TEST_CASE("a slow rank takes longer by its factor, rounded up", "[step][executor][fast]") {
  World w(1);
  w.system.speed[0] = kOne + kOne / 2;
  const auto a = w.compute(0, {.ns = 101});
  const auto t = w.run();
  REQUIRE(t);
  CHECK(finish(*t, 0, a) == 152);
}

TEST_CASE("instances of one group never overlap", "[step][executor][fast]") {
  // Both posts of each side are there at 0, on two streams; 100 bytes at 1 B/ns each, one after the other.
  World w(2);
  w.kind("p2p", true);
  const auto l = w.link(1);
  w.group(0, {0, 1}, {{l, kOne}});
  for (std::size_t r = 0; r < 2; ++r) {
    w.comm(r, {.role = static_cast<int>(r), .bytes = 100, .stream = Stream::kPpSendForward});
    w.comm(r, {.role = static_cast<int>(r), .bytes = 100, .stream = Stream::kPpSendBackward});
  }
  const auto t = w.run();
  REQUIRE(t);
  CHECK(finish(*t, 0, 0) == 100);
  CHECK(finish(*t, 1, 1) == 200);
}

TEST_CASE("record off keeps ends and no columns", "[step][executor][fast]") {
  std::mt19937_64 random(7);
  auto c = build(random_config(random, {}));
  const auto with = execute(c.system, c.cost, c.options);
  c.options.record = false;
  const auto without = execute(c.system, c.cost, c.options);
  REQUIRE((with && without));
  CHECK(without->end == with->end);
  CHECK(without->rank_end == with->rank_end);
  CHECK(without->posted.empty());
  CHECK(without->start.empty());
  CHECK(without->finish.empty());
}

TEST_CASE("a member that never arrives is a deadlock with names", "[step][executor][fast]") {
  World w(3);
  w.kind("tp", false);
  const auto l = w.link(1);
  w.group(0, {0, 1, 2}, {{l, kOne}});
  for (std::size_t r = 0; r < 3; ++r) w.comm(r, {.bytes = 100});
  w.comm(0, {.bytes = 200});
  w.comm(1, {.bytes = 200});
  const auto t = w.run();
  REQUIRE_FALSE(t);
  CHECK(t.error().code == twin::core::ErrorCode::kDeadlock);
  CHECK_THAT(t.error().text(), Contains("rank 0") && Contains("rank 1") && Contains("'tp'") && Contains("instance 1") &&
                                   Contains("'comm of 200'") && Contains("for rank 2"));
}

TEST_CASE("a dead link is a deadlock that names it", "[step][executor][fast]") {
  World w(2);
  w.kind("tp", false);
  w.link(1);
  const auto dead = w.link(0);
  w.group(0, {0, 1}, {{dead, kOne}});
  for (std::size_t r = 0; r < 2; ++r) w.comm(r, {.bytes = 100});
  const auto t = w.run();
  REQUIRE_FALSE(t);
  CHECK(t.error().code == twin::core::ErrorCode::kDeadlock);
  CHECK_THAT(t.error().text(), Contains("link 1 has no capacity"));
}

TEST_CASE("members that disagree on op or bytes are named", "[step][executor][fast]") {
  World w(2);
  w.kind("dp", false);
  const auto l = w.link(1);
  w.group(0, {0, 1}, {{l, kOne}});
  w.comm(0, {.bytes = 100});
  w.comm(1, {.bytes = 120});
  const auto t = w.run();
  REQUIRE_FALSE(t);
  CHECK(t.error().code == twin::core::ErrorCode::kInconsistent);
  CHECK_THAT(t.error().text(), Contains("'dp'") && Contains("of 100 bytes") && Contains("of 120 bytes"));
}

TEST_CASE("an op on a communicator that its rank is not in is refused", "[step][executor][fast]") {
  World w(2);
  w.kind("dp", false);
  w.comm(0, {.bytes = 100});
  const auto t = w.run();
  REQUIRE_FALSE(t);
  CHECK(t.error().code == twin::core::ErrorCode::kInconsistent);
  CHECK_THAT(t.error().text(), Contains("rank 0") && Contains("'dp'"));
}
